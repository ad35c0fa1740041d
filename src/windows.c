/* SPDX-License-Identifier: MIT */
/* windows.c: a recording cut into windows, each with a profile of its own. */
#include "windows.h"

#include <inttypes.h>

#include "facts.h"

struct error *windows_finish(struct recording *recording, const struct members *members)
{
	vec_foreach (member, members)
		member_settle(*member);
	if (!recording->symbolize)
		return NULL;
	if (recording->mismatches)
		stats_note(&recording->profile->stats,
			   "native and Python frames did not fit together in %" PRIu64 " samples",
			   recording->mismatches);
	return symbolize_rewrite(recording->symbolize, recording->options->native_mode,
				 &recording->profile);
}

/* An empty profile of the same recording, and what names its native frames. */
static struct error *make_next(const struct recording *recording, struct profile **profile_ret,
			       struct symbolize **symbolize_ret)
{
	struct error *err = profile_create(profile_ret);
	if (!err && recording->symbolize)
		err = symbolize_create(symbolize_ret);
	if (err)
		return err;
	facts_of_run(*profile_ret, recording->options);
	struct stats *stats = &(*profile_ret)->stats;
	stats->interval_ns = recording->profile->stats.interval_ns;
	stats->late_ns = recording->profile->stats.late_ns;
	return NULL;
}

struct error *windows_turn(struct recording *recording, const struct members *members,
			   uint64_t start_ns, uint64_t now_ns, struct stats *total,
			   struct profile **profile_ret)
{
	_cleanup_profile_ struct profile *next = NULL;
	struct symbolize *symbolize = NULL;
	struct error *err = make_next(recording, &next, &symbolize);
	recording->profile->stats.duration_ns = now_ns - start_ns;
	if (!err)
		err = windows_finish(recording, members);
	if (err) {
		if (symbolize)
			symbolize_destroy(symbolize);
		return err;
	}
	stats_add(total, &recording->profile->stats);
	/* After that: what it says is of the run so far, and of all windows' the last is the one for the summary. */
	facts_of_rate(&recording->profile->stats, recording);
	*profile_ret = recording->profile;
	recording->profile = no_cleanup(next);
	if (recording->symbolize)
		symbolize_destroy(recording->symbolize);
	recording->symbolize = symbolize;
	recording->mismatches = 0;
	vec_foreach (member, members)
		member_forget(*member);
	return NULL;
}
