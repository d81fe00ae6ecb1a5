{# The post-hook of every layer: properties as declared, and files laid out where that is worth a rewrite. #}
{% macro maintain_table() %}
    {%- if execute and model.config.materialized not in ['view', 'ephemeral'] and config.get('file_format') == 'delta' -%}
        {%- set upkeep = adapter.call_python('plan_upkeep', facts=layout_facts(model), table=this.render()) -%}
        {%- do reconcile_properties(this, upkeep) -%}
        {%- if upkeep.cluster_by is not none -%}
            {%- do run_query(cluster_by_sql(this, upkeep.cluster_by)) -%}
        {%- endif -%}
        {%- if upkeep.work -%}
            {%- do optimize_table(this, upkeep.work, upkeep.files) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
