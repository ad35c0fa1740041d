/* SPDX-License-Identifier: MIT */
/* recording.h: what all processes of one recording share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "aggregate/profile.h"
#include "aggregate/symbolize.h"
#include "budget.h"
#include "handover.h"
#include "options.h"
#include "sources.h"
#include "target/stop.h"
#include "ticker.h"

struct recording {
	const struct options *options;
	struct stopper stopper;
	struct profile *profile;
	struct symbolize *symbolize; /* with native frames, else NULL */
	struct handover *handover;   /* with --push, else NULL */
	struct ticker ticker;
	struct budget budget;
	bool wants_cpu;    /* CPU time is asked for, which costs a look more */
	uint64_t start_ns; /* of the run */
	uint64_t previous_tick_ns;
	struct sources sources; /* for formats that show them */
	uint64_t mismatches;    /* samples whose native and Python frames did not fit together */
	uint64_t sample_number;
	unsigned capsule_number;
	bool capsules_failed;
};
