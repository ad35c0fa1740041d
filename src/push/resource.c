/* SPDX-License-Identifier: MIT */
/* resource.c: what a process is to those who look at its profile later. */
#include "push/resource.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "image/rootfs.h"

#define FILE_MAX_BYTES   ((size_t)1 << 20)
#define CONTAINER_DIGITS 64
#define UID_LENGTH       36
#define NAMESPACE_MAX    63
#define NAMESPACE_FILE   "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

/* The last run of exactly 64 hexadecimal digits in the @size bytes at @text; NULL if there is none. */
static const char *find_id(const char *text, size_t size)
{
	const char *found = NULL;
	size_t run = 0;
	for (size_t i = 0; i <= size; i++) {
		if (i < size && isxdigit((unsigned char)text[i])) {
			run++;
			continue;
		}
		bool ends = i == size || !isalnum((unsigned char)text[i]);
		if (run == CONTAINER_DIGITS && ends)
			found = text + i - run;
		run = 0;
	}
	return found;
}

/*
 * A container engine mounts files of its own folder: …/containers/ID/hostname on /etc/hostname. A sandbox's folder has the id of the
 * pod's sandbox, which is another one.
 */
static const char *find_mounted_id(const char *mountinfo)
{
	for (const char *line = mountinfo; *line;) {
		size_t size = strcspn(line, "\n");
		const char *mounted = memmem(line, size, " /etc/hostname ", 15);
		const char *folder = memmem(line, size, "containers/", 11);
		if (mounted && folder && folder < mounted) {
			const char *id = find_id(folder, (size_t)(mounted - folder));
			if (id)
				return id;
		}
		line += size + (line[size] == '\n');
	}
	return NULL;
}

bool resource_container_id(const char *cgroup, const char *mountinfo, char id_ret[65])
{
	const char *id = find_id(cgroup, strlen(cgroup));
	if (!id)
		id = find_mounted_id(mountinfo);
	if (!id)
		return false;
	memcpy(id_ret, id, CONTAINER_DIGITS);
	id_ret[CONTAINER_DIGITS] = '\0';
	return true;
}

/* systemd's names have "_" for the dashes. */
static bool is_uid(const char *text)
{
	for (size_t i = 0; i < UID_LENGTH; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (dash ? text[i] != '-' && text[i] != '_' : !isxdigit((unsigned char)text[i]))
			return false;
	}
	return !isxdigit((unsigned char)text[UID_LENGTH]);
}

bool resource_pod_uid(const char *cgroup, char uid_ret[37])
{
	for (const char *at = strstr(cgroup, "kubepods"); at && (at = strstr(at, "pod")); at += 3) {
		if (!is_uid(at + 3))
			continue;
		memcpy(uid_ret, at + 3, UID_LENGTH);
		uid_ret[UID_LENGTH] = '\0';
		for (char *p = uid_ret; *p; p++)
			if (*p == '_')
				*p = '-';
		return true;
	}
	return false;
}

/* The text of /proc/PID/@name; an empty one if it can not be had. */
static char *read_text(const struct process *process, const char *name, size_t *size_ret)
{
	char *text = NULL;
	size_t size;
	_cleanup_error_ struct error *err =
		process_read_file(process, name, FILE_MAX_BYTES, &text, &size);
	if (err) {
		text = strdup("");
		size = 0;
	}
	if (size_ret)
		*size_ret = size;
	return text;
}

/* The value of variable @name in /proc/PID/environ; NULL if there is none. */
static const char *variable(const char *environ_text, size_t size, const char *name)
{
	size_t length = strlen(name);
	for (size_t at = 0; at < size; at += strlen(environ_text + at) + 1) {
		const char *entry = environ_text + at;
		if (!strncmp(entry, name, length) && entry[length] == '=')
			return entry + length + 1;
	}
	return NULL;
}

static bool add_environment(struct attributes *attributes, const struct process *process)
{
	size_t size;
	_cleanup_free_ char *text = read_text(process, "environ", &size);
	if (!text)
		return false;
	static const struct {
		const char *key, *names[3];
	} wanted[] = {
		{ "k8s.pod.name", { "POD_NAME", "K8S_POD_NAME", "KUBERNETES_POD_NAME" } },
		{ "k8s.namespace.name",
		  { "POD_NAMESPACE", "K8S_NAMESPACE", "KUBERNETES_NAMESPACE" } },
		{ "k8s.node.name", { "NODE_NAME", "K8S_NODE_NAME", "KUBERNETES_NODE_NAME" } },
		{ "service.name", { "OTEL_SERVICE_NAME" } },
	};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		for (size_t j = 0; j < 3 && wanted[i].names[j]; j++)
			if (!attributes_add(attributes, wanted[i].key,
					    variable(text, size, wanted[i].names[j])))
				return false;
	/* Its own mistakes are no reason to say less. */
	const char *more = variable(text, size, "OTEL_RESOURCE_ATTRIBUTES");
	if (more)
		error_destroy(attributes_parse(attributes, more));
	return true;
}

/* A label of DNS: what is written there must not be able to stand for anything else. */
static bool is_namespace(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
	return length && length <= NAMESPACE_MAX && !text[length];
}

static bool add_namespace(struct attributes *attributes, const struct process *process)
{
	struct rootfs root;
	_cleanup_error_ struct error *err = rootfs_open(process, &root);
	if (err)
		return true;
	_cleanup_close_ int fd = rootfs_open_file(root.fd, NAMESPACE_FILE);
	char text[NAMESPACE_MAX + 2] = "";
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	rootfs_close(&root);
	if (got <= 0)
		return true;
	text[got] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return !is_namespace(text) || attributes_add(attributes, "k8s.namespace.name", text);
}

static bool add_container(struct attributes *attributes, const struct process *process)
{
	_cleanup_free_ char *cgroup = read_text(process, "cgroup", NULL);
	_cleanup_free_ char *mountinfo = read_text(process, "mountinfo", NULL);
	char container[CONTAINER_DIGITS + 1], pod[UID_LENGTH + 1];
	if (!cgroup || !mountinfo)
		return false;
	if (resource_container_id(cgroup, mountinfo, container) &&
	    !attributes_add(attributes, "container.id", container))
		return false;
	if (!resource_pod_uid(cgroup, pod))
		return true;
	return attributes_add(attributes, "k8s.pod.uid", pod) && add_namespace(attributes, process);
}

static bool add_executable(struct attributes *attributes, const struct process *process)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_error_ struct error *err = process_read_link(process, "exe", &path);
	if (err)
		return true;
	return attributes_add(attributes, "process.executable.path", path) &&
	       attributes_add(attributes, "process.executable.name", path_base(path));
}

bool resource_of_process(struct attributes *attributes, const struct process *process)
{
	return attributes_set_number(attributes, "process.pid", process->pid) &&
	       add_executable(attributes, process) && add_container(attributes, process) &&
	       add_environment(attributes, process);
}

struct error *resource_of_environment(struct attributes *attributes)
{
	char host[256];
	if (!attributes_add(attributes, "service.name", getenv("OTEL_SERVICE_NAME")))
		return error_no_memory();
	const char *more = getenv("OTEL_RESOURCE_ATTRIBUTES");
	struct error *err = more ? attributes_parse(attributes, more) : NULL;
	if (err)
		return error_prefix(err, "OTEL_RESOURCE_ATTRIBUTES");
	if (!gethostname(host, sizeof(host))) {
		host[sizeof(host) - 1] = '\0';
		if (!attributes_add(attributes, "host.name", host))
			return error_no_memory();
	}
	return NULL;
}
