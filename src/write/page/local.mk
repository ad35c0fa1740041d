# SPDX-License-Identifier: MIT
# Pages for a browser, put into the program as text. A part of Makefile.am.
AM_CPPFLAGS += -I$(top_builddir)/src
PAGE_FILES = \
	src/write/page/embed.awk \
	src/write/page/flamegraph.css \
	src/write/page/flamegraph.html \
	src/write/page/flamegraph_canvas.js \
	src/write/page/flamegraph_model.js \
	src/write/page/flamegraph_page.js \
	src/write/page/flamegraph_text.js \
	src/write/page/heatmap.css \
	src/write/page/heatmap.html \
	src/write/page/heatmap_page.js
PAGES = src/write/page/flamegraph.inc src/write/page/heatmap.inc
EXTRA_DIST += $(PAGE_FILES)
BUILT_SOURCES = $(PAGES)
CLEANFILES = $(PAGES)

$(PAGES): $(PAGE_FILES)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && page=$(srcdir)/src/write/page/`basename $@ .inc`.html && \
	$(AWK) -v dir=$(srcdir)/src/write/page -f $(srcdir)/src/write/page/embed.awk $$page > $@.tmp && mv $@.tmp $@

# Also where one test is made alone.
src/write/flamegraph.$(OBJEXT): src/write/page/flamegraph.inc
src/write/heatmap.$(OBJEXT): src/write/page/heatmap.inc
