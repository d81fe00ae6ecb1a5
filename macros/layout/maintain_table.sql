{# The post-hook of every layer: properties as declared, and files laid out where that is worth a rewrite. #}
{% macro maintain_table() %}
    {%- if execute -%}
        {%- do reconcile_properties(this) -%}
        {%- if not adapter.has_nothing_new() -%}
            {%- do optimize_table(this) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
