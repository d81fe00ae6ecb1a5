{% macro is_new_file(source_name, table_name) %}
    {%- if not execute -%}
        {{ return('true') }}
    {%- endif -%}
    {%- set ns = namespace(location=none) -%}
    {%- for node in graph.sources.values() if node.source_name == source_name and node.name == table_name -%}
        {%- set ns.location = render(node.external.location) -%}
    {%- endfor -%}
    {%- set files = adapter.list_files(ns.location) -%}
    {%- set is_unchanged = adapter.is_as_noted(this if is_incremental() else none, ns.location, files) -%}
    {%- set loaded = {} -%}
    {%- if is_incremental() and not is_unchanged -%}
        {%- set ledger = run_query('select distinct _source_file, unix_millis(_source_mtime) from ' ~ this) -%}
        {%- for row in ledger.rows -%}
            {%- do loaded.update({(row[0], row[1] | int): true}) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set paths = [] -%}
    {%- for file in files if not is_unchanged and (file.path, file.modified_ms) not in loaded -%}
        {%- do paths.append("'" ~ file.path | replace("'", "\\'") ~ "'") -%}
    {%- endfor -%}
    {%- do adapter.note_change(ns.location, paths | length > 0) -%}
    {{ return('_metadata.file_path in (' ~ paths | join(', ') ~ ')' if paths else 'false') }}
{% endmacro %}
