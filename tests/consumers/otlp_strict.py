# SPDX-License-Identifier: MIT
"""otlp_strict.py FILE: reads a request with opentelemetry-proto and checks what profiles.proto says of its tables. Prints sums as JSON."""

import json
import sys

from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest

TABLES = ("mapping_table", "location_table", "function_table", "link_table", "string_table", "attribute_table", "stack_table")


def has_unknown_fields(data):
    """A reader drops what it does not know when it is told to: then less is left."""
    whole, known = ExportProfilesServiceRequest.FromString(data), ExportProfilesServiceRequest.FromString(data)
    known.DiscardUnknownFields()
    return whole.ByteSize() != known.ByteSize()


def check_dictionary(dictionary):
    sizes = {table: len(getattr(dictionary, table)) for table in TABLES}
    assert all(sizes.values()), sizes
    for table in TABLES:
        first = getattr(dictionary, table)[0]
        assert first == "" if table == "string_table" else first.ByteSize() == 0, table
    for table in TABLES:
        entries = [entry if table == "string_table" else entry.SerializeToString() for entry in getattr(dictionary, table)]
        assert len(set(entries)) == len(entries), "%s has an entry twice" % table
    for location in dictionary.location_table[1:]:
        assert location.mapping_index < sizes["mapping_table"]
        assert location.lines and all(0 < line.function_index < sizes["function_table"] for line in location.lines)
        assert all(0 < index < sizes["attribute_table"] for index in location.attribute_indices)
    for function in dictionary.function_table[1:]:
        assert 0 < function.name_strindex < sizes["string_table"] and function.filename_strindex < sizes["string_table"]
    for attribute in dictionary.attribute_table[1:]:
        assert 0 < attribute.key_strindex < sizes["string_table"] and attribute.value.WhichOneof("value")
    for stack in dictionary.stack_table[1:]:
        assert stack.location_indices and all(0 < index < sizes["location_table"] for index in stack.location_indices)
    return sizes


def main(path):
    with open(path, "rb") as file:
        data = file.read()
    assert not has_unknown_fields(data)
    request = ExportProfilesServiceRequest.FromString(data)
    sizes = check_dictionary(request.dictionary)
    sums, ids = {}, set()
    for resource in request.resource_profiles:
        keys = [attribute.key for attribute in resource.resource.attributes]
        assert "service.name" in keys and len(set(keys)) == len(keys)
        for scope in resource.scope_profiles:
            assert scope.scope.name == "pysample"
            for profile in scope.profiles:
                assert len(profile.profile_id) == 16 and profile.profile_id not in ids
                ids.add(profile.profile_id)
                unit = request.dictionary.string_table[profile.sample_type.unit_strindex]
                for sample in profile.samples:
                    assert 0 < sample.stack_index < sizes["stack_table"]
                    assert len(sample.values) == 1 and sample.values[0] > 0
                    assert all(0 < index < sizes["attribute_table"] for index in sample.attribute_indices)
                    sums[unit] = sums.get(unit, 0) + sample.values[0]
    print(json.dumps({"counts": sums["count"], "nanoseconds": sums["nanoseconds"]}))


main(sys.argv[1])
