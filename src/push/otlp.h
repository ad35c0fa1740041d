/* SPDX-License-Identifier: MIT */
/*
 * otlp.h: profile → OpenTelemetry's ExportProfilesServiceRequest.
 *
 * As in opentelemetry-proto 1.9 to 1.11, profiles v1development. That is not declared stable: all that depends on it is in this file's .c.
 */
#pragma once

#include <stddef.h>

#include "aggregate/profile.h"
#include "base/error.h"
#include "base/pb.h"
#include "push/attributes.h"
#include "push/window.h"

/*
 * Appends the request for @profile to @pb. @resources describe its processes, by number. Each process that has samples is a resource
 * with two profiles over the same stacks: number of samples, and what they weigh in the profile's mode, if that is not 0. service.name
 * and host.name are put on each sample too: some servers lose those of the resource behind a relay.
 * @samples_ret: how many samples are in it; with 0 of them nothing is appended.
 */
struct error *otlp_encode(const struct profile *profile, const struct push_window *window,
			  const struct attributes *resources, struct pb *pb, uint64_t *samples_ret);

/*
 * What an ExportProfilesServiceResponse of @size bytes says was not taken; 0 for all of it taken, or bytes that are none. @message_ret,
 * not terminated, points into the response.
 */
int64_t otlp_rejected(const void *response, size_t size, const char **message_ret,
		      size_t *message_size_ret);
