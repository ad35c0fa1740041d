# SPDX-License-Identifier: MIT
# Instruction counts of the stages of the work on a sample: docs/testing.md. A part of Makefile.am.
check_PROGRAMS += bench/stages
bench_stages_SOURCES = bench/stages.c
bench_stages_CPPFLAGS = $(AM_CPPFLAGS) -DBUILD_CPU='"$(host_cpu)"' -DBUILD_FLAGS='"$(CFLAGS)"' \
	-DBUILD_SANITIZERS='"$(SANITIZE_CFLAGS)"'
bench_stages_LDADD = $(LIBS_ALL)
dist_check_SCRIPTS = bench/instructions tests/test_instructions
TESTS += $(dist_check_SCRIPTS)
