{% macro expectations_of(entity) %}
    {%- set found = [] -%}
    {%- for node in (graph.nodes.values() if execute else []) if node.resource_type == 'model' and node.name == entity ~ '_checked' -%}
        {%- for expectation in declared_expectations(node) -%}
            {%- do found.append("('" ~ expectation.name ~ "', '" ~ expectation.get('on_violation', 'quarantine') ~ "')") -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(
        'select * from values ' ~ (found or ["('', '')"]) | join(', ') ~ ' as expectations (expectation, on_violation)'
    ) }}
{% endmacro %}
