/* SPDX-License-Identifier: MIT */
/*
 * resource.h: what a process is to those who look at its profile later: service, host, container, pod.
 *
 * What a process says of itself (its environment, files in its root) is taken as a text and never as a path.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "push/attributes.h"
#include "target/process.h"

/*
 * Adds what /proc/PID tells of @process: process.pid, process.executable.name and .path, container.id, k8s.pod.uid, k8s.pod.name,
 * k8s.namespace.name, and what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES of its own environment say. What can not be found out
 * is not there. False without memory.
 */
bool resource_of_process(struct attributes *attributes, const struct process *process);
/* Adds host.name and what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES of this program's environment say. */
struct error *resource_of_environment(struct attributes *attributes);

/* The id in the text of /proc/PID/cgroup, else in that of mountinfo; 64 digits. False if there is none. */
bool resource_container_id(const char *cgroup, const char *mountinfo, char id_ret[65]);
/* The pod's UID in the text of /proc/PID/cgroup, with dashes. False if there is none. */
bool resource_pod_uid(const char *cgroup, char uid_ret[37]);
