{#
  An array of the expectations that a row fails, of one kind of `on_violation`, each as {name, explanation}. One with
  `stop: true` ends the list where it fails: what follows can't be judged.
#}
{% macro violations(on_violation) %}
    {%- if on_violation not in ['fail', 'quarantine', 'warn'] -%}
        {{ exceptions.raise_compiler_error('violations: on_violation must be fail, quarantine or warn, got ' ~ on_violation) }}
    {%- endif -%}
    {%- set stops = [] -%}
    {%- set others = [] -%}
    {%- for expectation in declared_expectations() -%}
        {%- set facts = expectation_sql(expectation, _expectation_facts(model)) -%}
        {%- if expectation.get('stop') -%}
            {%- do stops.append(facts) -%}
        {%- elif facts.on_violation == on_violation -%}
            {%- do others.append(facts) -%}
        {%- endif -%}
    {%- endfor -%}
    case
        {%- for facts in stops %}
        when not ({{ facts.check }})
            then array({{ _violation(facts) if facts.on_violation == on_violation }})
        {%- endfor %}
        when true then array_compact(array(
            {%- for facts in others %}
            case when not ({{ facts.check }}) then {{ _violation(facts) }} end{{ ',' if not loop.last }}
            {%- else %}
            cast(null as struct<name: string, explanation: string>)
            {%- endfor %}
        ))
    end
{%- endmacro %}


{% macro _violation(facts) -%}
    named_struct('name', '{{ facts.name }}', 'explanation', coalesce(string({{ facts.explanation }}), '{{ facts.name }}'))
{%- endmacro %}
