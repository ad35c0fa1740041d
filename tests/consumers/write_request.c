/* SPDX-License-Identifier: MIT */
/*
 * write_request PROTOCOL FILE: what would be pushed of the profile in FILE, on standard output.
 *
 * PROTOCOL is otlp or pyroscope. Each process is called after its number in the profile: service-0, service-1, …
 */
#include <stdio.h>
#include <string.h>

#include "push/otlp.h"
#include "push/pyroscope.h"
#include "read/read.h"

#define PROCESSES_MAX 16

static struct error *write_request(const char *protocol, const char *path)
{
	static const struct push_window window = {
		.start_unix_ns = UINT64_C(1700000000000000000),
		.duration_ns = UINT64_C(10000000000),
		.id = "fifteen letters",
	};
	static const struct read_options options;
	struct attributes resources[PROCESSES_MAX] = { 0 };
	_cleanup_profile_ struct profile *profile = NULL;
	_cleanup_pb_ struct pb pb = { 0 };
	struct error *err = profile_create(&profile);
	if (!err)
		err = read_profile(path, &options, profile);
	if (err)
		return err;
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		char name[32];
		snprintf(name, sizeof(name), "service-%zu", i);
		attributes_set(&resources[i], "service.name", name);
	}
	if (profile->processes.count > PROCESSES_MAX)
		return error_create(ERROR_OTHER, "too many processes");
	uint64_t samples;
	err = !strcmp(protocol, "pyroscope")
		      ? pyroscope_encode(profile, &window, resources, &pb, &samples)
		      : otlp_encode(profile, &window, resources, &pb, &samples);
	if (!err)
		fwrite(pb.data, 1, pb.size, stdout);
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		attributes_deinit(&resources[i]);
	return err;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	_cleanup_error_ struct error *err = write_request(argv[1], argv[2]);
	if (err)
		fprintf(stderr, "%s\n", err->message);
	return err != NULL;
}
