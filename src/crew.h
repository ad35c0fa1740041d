/* SPDX-License-Identifier: MIT */
/* crew.h: the processes of a recording: those that were asked for, and with them the ones that are found on the way. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent.h"
#include "family.h"
#include "member.h"
#include "recording.h"

struct crew {
	struct recording *recording; /* not owned */
	struct members members;
	struct family family;
	bool follows;        /* the family of the members is looked for */
	struct agent *agent; /* says which are sampled, instead; NULL: none does. Not owned */
	bool is_full;
};

/* With @follows the descendants of those that are added are looked for. */
void crew_init(struct crew *crew, struct recording *recording, bool follows);
void crew_deinit(struct crew *crew);

/* A process that was asked for. @launched: by ourselves, and it is not yet executing its program. */
struct error *crew_add(struct crew *crew, pid_t pid, bool launched);
/* A process of which only the descendants were asked for. */
struct error *crew_add_parent(struct crew *crew, pid_t pid);

/* Looks for new processes, if it is time to: some milliseconds at most where there are any. */
void crew_look(struct crew *crew);
/* When that is to be called again. */
uint64_t crew_next_look_ns(const struct crew *crew);
/* Samples all members, and drops those that have ended. */
void crew_round(struct crew *crew, uint64_t tick_ns);
/* Nothing is left and nothing to be expected. @roots_only: whatever was not asked for by itself does not count. */
bool crew_is_over(const struct crew *crew, bool roots_only);

/* Gives those that were asked for a number in a profile that has begun. */
void crew_enter(struct crew *crew);
/* Drops those that the agent does not want any more. */
void crew_drop_unwanted(struct crew *crew);
