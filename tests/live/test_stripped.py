# SPDX-License-Identifier: MIT
"""Symbols are a help, not a need."""

import subprocess

import pytest

import interpreters
import procfs
import shapes


@pytest.mark.slow
def test_stripped_interpreter_is_profiled_as_well(copyable_python, tmp_path):
    """Given executable and libpython after strip --strip-all, the profile is as good as with symbols."""
    stripped = interpreters.copied(copyable_python, tmp_path / "python", strip=True)
    with shapes.shape_target(stripped) as target:
        used = [path for path in procfs.mapped_files(target.pid) if "libpython" in path]
        assert used and all(path.startswith(str(tmp_path)) for path in used)
        sections = subprocess.run(["readelf", "-SW", used[0]], stdout=subprocess.PIPE, text=True, check=True).stdout
        assert ".symtab" not in sections
        shapes.check(shapes.profile(target), stripped)
        target.finish()
