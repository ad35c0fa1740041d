/* SPDX-License-Identifier: MIT */
/*
 * agent.h: which processes of the machine are profiled, found by looking.
 *
 * Every second the processes that are new are looked at: those that the rules want and that run a Python are found. One that is none may
 * become one by an exec; it is looked at again, less and less often.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "options.h"

struct agent;

DEFINE_VEC(struct agent_pids, agent_pids, pid_t)

struct error *agent_create(const struct options *options, struct agent **agent_ret);
void agent_destroy(struct agent *agent);

/* A key of the configuration that is the agent's: name, user or cgroup. As push_config_key; @context is the agent. */
struct error *agent_config(void *context, const char *key, const char *value, bool *known_ret);
/* Before the configuration is read (again): forgets what it said the last time it was taken. */
void agent_begin_rules(struct agent *agent);
/* After it was read: takes what it said, or with @valid false leaves everything as it was. All processes are looked at anew. */
void agent_end_rules(struct agent *agent, bool valid);

/* Ids of processes to be added, a few at a time; empty when it is not yet time to look. Valid until the next call. */
const struct agent_pids *agent_scan(struct agent *agent, uint64_t now_ns);
/* Whether the rules want process @pid, Python or not. */
bool agent_wants(const struct agent *agent, pid_t pid);
/* A process that was found is no longer sampled: it has ended, or @err says why it can not be. Says that, once a reason. */
void agent_drop(struct agent *agent, pid_t pid, const struct error *err);
/* A line of the summary: how many were found and left out. */
void agent_print(const struct agent *agent, FILE *stream);
