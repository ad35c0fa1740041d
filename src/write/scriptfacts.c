/* SPDX-License-Identifier: MIT */
/* scriptfacts.c: what ran and how the run went, as data for the heads of pages. */
#include "write/scriptfacts.h"

/* Reasons that occurred, with their words for people. */
static void add_reasons(struct script *script, const char *key,
			const uint64_t counts[REASON_COUNT_])
{
	bool first = true;
	script_raw(script, key);
	script_raw(script, "[");
	for (size_t i = 0; i < REASON_COUNT_; i++) {
		if (!counts[i])
			continue;
		script_add_text(script, first ? "[" : ",[", reason_name((enum reason)i));
		script_add_text(script, ",", reason_text((enum reason)i));
		script_add_number(script, ",", counts[i]);
		script_raw(script, "]");
		first = false;
	}
	script_raw(script, "]");
}

void scriptfacts_run(struct script *script, const struct profile *profile)
{
	const struct stats *stats = &profile->stats;
	script_add_text(script, "{\"tool\":", profile->facts.tool_version);
	script_raw(script, ",\"tool_argv\":");
	script_argv(script, &profile->facts.tool_argv);
	script_add_text(script, ",\"start_time\":", profile->facts.start_time);
	script_add_text(script, ",\"mode\":", profile_mode_name(profile->facts.mode));
	script_add_number(script, ",\"duration_ns\":", stats->duration_ns);
	script_add_number(script, ",\"interval_ns\":", stats->interval_ns);
	script_add_number(script, ",\"rate_mhz\":", stats_rate_mhz(stats));
	script_add_number(script, ",\"ticks\":", stats->ticks);
	script_add_number(script, ",\"late\":", stats->late);
	script_add_number(script, ",\"skipped\":", stats->skipped);
	script_add_number(script, ",\"samples\":", stats->samples);
	script_add_number(script, ",\"complete\":", stats->complete);
	add_reasons(script, ",\"cut\":", stats->cut);
	add_reasons(script, ",\"lost\":", stats->lost);
	script_raw(script, ",\"notes\":[");
	for (unsigned i = 0; i < stats->note_count; i++)
		script_add_text(script, i ? "," : "", stats->notes[i]);
	script_raw(script, "]}");
}

void scriptfacts_process(struct script *script, const struct profile *profile, uint32_t id,
			 unsigned run)
{
	const struct profile_process *process = &profile->processes.items[id];
	script_add_number(script, "{\"run\":", run);
	script_add_number(script, ",\"pid\":", (uint64_t)process->pid);
	script_add_text(script, ",\"name\":", profile_process_name(profile, id));
	script_raw(script, ",\"argv\":");
	script_argv(script, &process->argv);
	script_add_text(script, ",\"executable\":", process->executable);
	script_add_text(script, ",\"python\":", process->python_version);
	script_raw(script, "}");
}
