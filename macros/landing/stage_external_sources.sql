{% macro stage_external_sources() %}
    {%- if execute and flags.WHICH in ['build', 'run', 'run-operation'] -%}
        {%- for source_node in graph.sources.values() if source_node.external and source_node.external.location -%}
            {%- set relation = api.Relation.create(schema=source_node.schema, identifier=source_node.identifier, type='table') -%}
            {%- set statement = external_table_sql(source_node, relation) -%}
            {%- set definition = local_md5(statement) -%}
            {%- set present = load_relation(relation) -%}
            {%- if present is none or _staged_definition(relation) != definition -%}
                {%- do run_query('create schema if not exists ' ~ relation.schema) -%}
                {%- do run_query('drop table if exists ' ~ relation) -%}
                {%- do run_query(statement) -%}
                {%- do run_query(
                    "alter table " ~ relation ~ " set tblproperties ('geostrata.definition' = '" ~ definition ~ "')"
                ) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{% macro _staged_definition(relation) %}
    {%- for row in fetch_tbl_properties(relation).rows if row[0] == 'geostrata.definition' -%}
        {{ return(row[1]) }}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}
