# SPDX-License-Identifier: MIT
"""What bench/run measures with; see bench/README.md."""
