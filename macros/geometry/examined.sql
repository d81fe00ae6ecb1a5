{#
  The rows of a CTE, each with its geometry in EPSG:4326, its CRS by its short name, and the verdict on it: what it fails, what it only warns of, why in
  words, and an excerpt of what landed. A geometry that can't be read is a reason, never a failed job.
  The CTE has `source_crs` and `landed_geometry` (WKB, EWKB, hex, WKT or GeoJSON, as bytes or text), or `lon` and `lat`.
#}
{% macro examined(cte, from_lonlat=false, axis_order='xy') %}
    {%- if axis_order not in ['xy', 'authority'] -%}
        {{ exceptions.raise_compiler_error('examined: axis_order must be xy or authority, got ' ~ axis_order) }}
    {%- endif -%}
    {%- set expectations = declared_expectations() -%}
    select
        judged.* except (source_crs, examined, geom, extent, is_newest_delivery, failures, warnings, reports),
        judged.examined.crs as source_crs,
        judged.examined.geometry as geometry,
        judged.examined.is_repaired as is_repaired,
        case
            -- the statement stops here, before anything is written, unless the file was delivered again meanwhile
            when size(judged.failures) > 0 and judged.is_newest_delivery
                then cast(raise_error(concat(
                    '{{ this.identifier }}: expectation ', judged.failures[0].name, ' failed for ', judged._source_file, ', ',
                    judged._source_position, ': ', judged.failures[0].explanation
                )) as array<string>)
            else concat(judged.failures.name, judged.reports.name)
        end as failed_expectations,
        judged.warnings.name as warned_expectations,
        array_join(
            concat(judged.failures.explanation, judged.reports.explanation, judged.warnings.explanation), '; '
        ) as explanation,
        case
            when size(judged.failures) + size(judged.reports) > 0 then coalesce({{ excerpt('judged._corrupt_record') }}, judged.examined.excerpt)
        end as landed_value

    from (

        select
            placed.*,
            {{ violations('fail') }} as failures,
            {{ violations('quarantine') }} as reports,
            {{ violations('warn') }} as warnings

        from (

            select
                parsed.*,
                st_geomfromwkb(parsed.examined.geometry) as geom,
                struct(extents.*) as extent

            from (

                select
                    *,
                    {% if expectations | selectattr('on_violation', 'defined') | selectattr('on_violation', 'equalto', 'fail') | list -%}
                    coalesce(_delivery = max(case when _file_problem is null then _delivery end) over (
                        partition by _source_file
                    ), true) as is_newest_delivery,
                    {%- else -%}
                    true as is_newest_delivery,
                    {%- endif %}
                    {% if from_lonlat -%}
                    examine_point(lon, lat, source_crs, '{{ axis_order }}') as examined
                    {%- else -%}
                    {{ 'repair_geometry' if _repairs(expectations) else 'examine_geometry' }}(
                        cast(landed_geometry as binary), source_crs, '{{ axis_order }}'
                    ) as examined
                    {%- endif %}
                from {{ cte }}

            ) as parsed

            -- left: an extent that is not there must lose no row
            left join {{ ref('extents') }} as extents
                on extents.extent = '{{ _extent_name(expectations) }}'

        ) as placed

    ) as judged
{% endmacro %}


{% macro _repairs(expectations) %}
    {%- for expectation in expectations if expectation.name == 'geometry_valid' and expectation.get('repair') -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{% macro _extent_name(expectations) %}
    {%- for expectation in expectations if expectation.name == 'within_extent' -%}
        {{ return(expectation.get('extent', var('extent', 'town'))) }}
    {%- endfor -%}
    {{ return('none') }}
{% endmacro %}
