/* SPDX-License-Identifier: MIT */
/* agent.c: which processes of the machine are profiled, found by looking. */
#include "agent.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <nss.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/path.h"
#include "target/process.h"

#define SCAN_NS        NS_PER_S
#define RECHECK_MIN_NS NS_PER_S
#define RECHECK_MAX_NS (64 * NS_PER_S)
/* Opening one takes some milliseconds: more of them at once would hold the others up. */
#define FOUND_AT_ONCE 4
#define MAPS_MAX      ((size_t)1 << 20)
#define TEXT_MAX      4096
#define REASONS       16

DEFINE_VEC(struct agent_texts, agent_texts, char *)

/* Within a kind one must fit; each kind that has any must. */
struct rules {
	struct agent_texts names, users, cgroups;
};

struct known {
	pid_t pid;
	bool member; /* was handed out and not dropped yet */
	bool seen;   /* in the look that is going on */
	uint64_t recheck_ns, pause_ns;
};

struct agent {
	const struct options *options;
	struct rules rules, next; /* the configuration's */
	struct hash known;        /* by pid: struct known */
	struct agent_pids waiting, found;
	uint64_t scan_ns;
	uint64_t found_count, left_out;
	enum error_code said[REASONS]; /* reasons that were told already */
	size_t said_count;
};

static void texts_deinit(struct agent_texts *texts)
{
	vec_foreach (text, texts)
		free(*text);
	agent_texts_deinit(texts);
}

static void rules_deinit(struct rules *rules)
{
	texts_deinit(&rules->names);
	texts_deinit(&rules->users);
	texts_deinit(&rules->cgroups);
}

struct error *agent_create(const struct options *options, struct agent **agent_ret)
{
	struct agent *agent = calloc(1, sizeof(*agent));
	if (!agent)
		return error_no_memory();
	agent->options = options;
	*agent_ret = agent;
	return NULL;
}

static void forget_known(struct agent *agent)
{
	hash_foreach (slot, &agent->known)
		free(slot->value);
	hash_deinit(&agent->known);
}

void agent_destroy(struct agent *agent)
{
	forget_known(agent);
	rules_deinit(&agent->rules);
	rules_deinit(&agent->next);
	agent_pids_deinit(&agent->waiting);
	agent_pids_deinit(&agent->found);
	free(agent);
}

struct error *agent_config(void *context, const char *key, const char *value, bool *known_ret)
{
	struct agent *agent = context;
	struct agent_texts *texts = !strcmp(key, "name")     ? &agent->next.names
				    : !strcmp(key, "user")   ? &agent->next.users
				    : !strcmp(key, "cgroup") ? &agent->next.cgroups
							     : NULL;
	*known_ret = texts;
	if (!texts)
		return NULL;
	char **text = agent_texts_append(texts);
	if (text)
		*text = strdup(value);
	if (text && *text)
		return NULL;
	texts->count -= text != NULL;
	return error_no_memory();
}

void agent_begin_rules(struct agent *agent)
{
	rules_deinit(&agent->next);
}

void agent_end_rules(struct agent *agent, bool valid)
{
	if (!valid) {
		rules_deinit(&agent->next);
		return;
	}
	rules_deinit(&agent->rules);
	agent->rules = agent->next;
	agent->next = (struct rules){ 0 };
	agent->scan_ns = 0;
	hash_foreach (slot, &agent->known)
		((struct known *)slot->value)->recheck_ns = 0;
}

/* The name is the kernel's, or the last part of one of the first two arguments: of the interpreter, of the script. */
static bool fits_name(pid_t pid, const char *pattern)
{
	char text[TEXT_MAX];
	if (process_read_start(pid, "comm", text, sizeof(text))) {
		text[strcspn(text, "\n")] = '\0';
		if (!fnmatch(pattern, text, 0))
			return true;
	}
	size_t size = process_read_start(pid, "cmdline", text, sizeof(text));
	const char *word = text;
	for (int i = 0; i < 2 && word < text + size; i++) {
		if (!fnmatch(pattern, path_base(word), 0))
			return true;
		word += strlen(word) + 1;
	}
	return false;
}

static bool fits_user(pid_t pid, const char *user)
{
	char text[TEXT_MAX], *end;
	process_read_start(pid, "status", text, sizeof(text));
	const char *line = strstr(text, "\nUid:\t");
	if (!line)
		return false;
	unsigned long owner = strtoul(line + 6, NULL, 10), uid = strtoul(user, &end, 10);
	if (*end) {
		/* A static program must not load other sources' libraries: they fit one C library only. */
		if (!getauxval(AT_BASE))
			__nss_configure_lookup("passwd", "files");
		const struct passwd *entry = getpwnam(user);
		if (!entry)
			return false;
		uid = entry->pw_uid;
	}
	return uid == owner;
}

/* A line of cgroup is NUMBER:CONTROLLERS:PATH. */
static bool fits_cgroup(pid_t pid, const char *pattern)
{
	char text[TEXT_MAX];
	process_read_start(pid, "cgroup", text, sizeof(text));
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		const char *path = strchr(line, ':');
		path = path ? strchr(path + 1, ':') : NULL;
		if (path && !fnmatch(pattern, path + 1, 0))
			return true;
	}
	return false;
}

typedef bool (*fits_rule)(pid_t pid, const char *pattern);

static bool fits_any(pid_t pid, const struct name_filter *options, const struct agent_texts *config,
		     fits_rule fits)
{
	bool any = !options->count && !config->count;
	for (size_t i = 0; !any && i < options->count; i++)
		any = fits(pid, options->items[i]);
	for (size_t i = 0; !any && i < config->count; i++)
		any = fits(pid, config->items[i]);
	return any;
}

bool agent_wants(const struct agent *agent, pid_t pid)
{
	const struct options *options = agent->options;
	const struct rules *rules = &agent->rules;
	return fits_any(pid, &options->agent_users, &rules->users, fits_user) &&
	       fits_any(pid, &options->agent_names, &rules->names, fits_name) &&
	       fits_any(pid, &options->agent_cgroups, &rules->cgroups, fits_cgroup);
}

/* By the names of the program and the libraries alone: what is in them is looked at when it is opened. */
static bool looks_like_python(pid_t pid)
{
	char path[64], exe[PATH_MAX];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	ssize_t size = readlink(path, exe, sizeof(exe) - 1);
	if (size <= 0)
		return false;
	exe[size] = '\0';
	if (strstr(path_base(exe), "python"))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	_cleanup_fclose_ FILE *maps = fopen(path, "re");
	char line[TEXT_MAX];
	for (size_t read = 0; maps && read < MAPS_MAX && fgets(line, sizeof(line), maps);
	     read += strlen(line))
		if (strstr(path_base(line), "libpython"))
			return true;
	return false;
}

static struct known *find_known(struct agent *agent, pid_t pid)
{
	struct known *known = hash_get(&agent->known, (uint64_t)pid);
	if (known)
		return known;
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	known->pid = pid;
	known->pause_ns = RECHECK_MIN_NS;
	if (hash_set(&agent->known, (uint64_t)pid, known))
		return known;
	free(known);
	return NULL;
}

static void look_again_later(struct known *known, uint64_t now_ns)
{
	known->recheck_ns = now_ns + known->pause_ns;
	if (known->pause_ns < RECHECK_MAX_NS)
		known->pause_ns *= 2;
}

static void look_at(struct agent *agent, pid_t pid, uint64_t now_ns)
{
	struct known *known = find_known(agent, pid);
	if (!known)
		return;
	known->seen = true;
	if (known->member || now_ns < known->recheck_ns)
		return;
	look_again_later(known, now_ns);
	if (pid == getpid() || !looks_like_python(pid) || !agent_wants(agent, pid))
		return;
	pid_t *slot = agent_pids_append(&agent->waiting);
	if (!slot)
		return;
	*slot = pid;
	known->member = true;
	agent->found_count++;
}

/* Those that have ended: their numbers will be given to others. */
static void forget_unseen(struct agent *agent)
{
	struct agent_pids gone = { 0 };
	hash_foreach (slot, &agent->known) {
		struct known *known = slot->value;
		pid_t *pid = known->seen ? NULL : agent_pids_append(&gone);
		if (pid)
			*pid = known->pid;
		known->seen = false;
	}
	vec_foreach (pid, &gone)
		free(hash_remove(&agent->known, (uint64_t)*pid));
	agent_pids_deinit(&gone);
}

static void look_at_all(struct agent *agent, uint64_t now_ns)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	struct dirent *entry;
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		char *end;
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		long pid = strtol(entry->d_name, &end, 10);
		if (!*end && pid > 0 && pid <= INT_MAX)
			look_at(agent, (pid_t)pid, now_ns);
	}
	forget_unseen(agent);
}

const struct agent_pids *agent_scan(struct agent *agent, uint64_t now_ns)
{
	if (now_ns >= agent->scan_ns && !agent->waiting.count) {
		look_at_all(agent, now_ns);
		agent->scan_ns = now_ns + SCAN_NS;
	}
	agent->found.count = 0;
	while (agent->waiting.count && agent->found.count < FOUND_AT_ONCE) {
		pid_t *slot = agent_pids_append(&agent->found);
		if (!slot)
			break;
		*slot = agent->waiting.items[--agent->waiting.count];
	}
	return &agent->found;
}

static bool is_said(struct agent *agent, enum error_code code)
{
	for (size_t i = 0; i < agent->said_count; i++)
		if (agent->said[i] == code)
			return true;
	if (agent->said_count < REASONS)
		agent->said[agent->said_count++] = code;
	return false;
}

void agent_drop(struct agent *agent, pid_t pid, const struct error *err)
{
	struct known *known = hash_get(&agent->known, (uint64_t)pid);
	if (known)
		known->member = false;
	if (!err || err->code == ERROR_GONE)
		return;
	agent->left_out++;
	if (!is_said(agent, err->code) && !agent->options->quiet)
		fprintf(stderr,
			"pysample: process %d is left out: %s (others for the same reason are only "
			"counted)\n",
			(int)pid, err->message);
}

void agent_print(const struct agent *agent, FILE *stream)
{
	fprintf(stream, "found %" PRIu64 " processes", agent->found_count);
	if (agent->left_out)
		fprintf(stream, "; %" PRIu64 " times one could not be sampled", agent->left_out);
	fputc('\n', stream);
}
