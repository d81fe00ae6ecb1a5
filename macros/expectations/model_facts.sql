{# What decides about a checked model's rows beside its SQL: the rules in its YAML, or in that of its source. #}
{% macro sedona__model_facts() %}
    {{ return([declared_expectations(), _expectation_facts(model).get('key')] if model.name.endswith('_checked') else none) }}
{% endmacro %}
