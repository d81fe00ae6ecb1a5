{#
  An array of the names of this model's expectations (meta.expectations) that a row fails, of one kind of `on_violation`.
  An expectation with `stop: true` ends the list where it fails: what follows could not be judged.
#}
{% macro failed_expectations(on_violation='quarantine') %}
    {%- if on_violation not in ['warn', 'quarantine'] -%}
        {{ exceptions.raise_compiler_error("failed_expectations: on_violation must be warn or quarantine, got " ~ on_violation) }}
    {%- endif -%}
    {%- set meta = model.config.meta if execute else {} -%}
    {%- set built_in = built_in_checks(meta.get('key')) -%}
    {%- set stops = [] -%}
    {%- set checks = [] -%}
    {%- for expectation in meta.get('expectations', []) if expectation.get('on_violation', 'quarantine') == on_violation -%}
        {%- set check = expectation.get('check') or built_in.get(expectation.name) -%}
        {%- if not check -%}
            {{ exceptions.raise_compiler_error(
                model.name ~ ": expectation " ~ expectation.name ~ " has no check and is none of the built-in ones: "
                ~ built_in.keys() | join(', ')
            ) }}
        {%- endif -%}
        {%- do (stops if expectation.get('stop') else checks).append((expectation.name, check)) -%}
    {%- endfor -%}
    {%- if not stops and not checks -%}
        array()
    {%- else -%}
        case
            {%- for name, check in stops %}
            when not ({{ check }}) then array('{{ name }}')
            {%- endfor %}
            when true then array_compact(array(
                {%- for name, check in checks %}
                case when not ({{ check }}) then '{{ name }}' end{{ ',' if not loop.last }}
                {%- endfor %}
            ))
        end
    {%- endif -%}
{% endmacro %}
