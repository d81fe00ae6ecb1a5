{% macro is_new_file(source_name, table_name) %}
    {%- if not execute -%}
        {{ return('true') }}
    {%- endif -%}
    {%- set ns = namespace(location=none) -%}
    {%- for node in graph.sources.values() if node.source_name == source_name and node.name == table_name -%}
        {%- set ns.location = render(node.external.location) -%}
    {%- endfor -%}
    {%- set loaded = {} -%}
    {%- if is_incremental() -%}
        {%- set ledger = run_query('select distinct _source_file, unix_millis(_source_mtime) from ' ~ this) -%}
        {%- for row in ledger.rows -%}
            {%- do loaded.update({(row[0], row[1] | int): true}) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set paths = [] -%}
    {%- for file in adapter.list_files(ns.location) if (file.path, file.modified_ms) not in loaded -%}
        {%- do paths.append("'" ~ file.path | replace("'", "\\'") ~ "'") -%}
    {%- endfor -%}
    {%- do adapter.note_change(ns.location, paths | length > 0) -%}
    {{ return('_metadata.file_path in (' ~ paths | join(', ') ~ ')' if paths else 'false') }}
{% endmacro %}
