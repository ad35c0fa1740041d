/* SPDX-License-Identifier: MIT */
/* Handing profiles over: what is said of a process, where to, what answers mean, and what waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/clock.h"
#include "push/attributes.h"
#include "push/endpoint.h"
#include "push/otlp.h"
#include "push/post.h"
#include "push/pyroscope.h"
#include "push/queue.h"
#include "push/resource.h"
#include "push/settings.h"

static void expect_text(const struct attributes *attributes, const char *key, const char *text)
{
	const struct attribute *attribute = attributes_get(attributes, key);
	assert_non_null(attribute);
	assert_string_equal(attribute->text, text);
}

static void attributes_are_read_as_opentelemetry_writes_them(void **state)
{
	_cleanup_attributes_ struct attributes attributes = { 0 };
	assert_null(attributes_parse(&attributes, " a=1, b.c = x%20y%2c ,,d=, a=2,e=%zz%00"));
	assert_int_equal(attributes.count, 4);
	expect_text(&attributes, "a", "1");
	expect_text(&attributes, "b.c", "x y,");
	expect_text(&attributes, "d", "");
	expect_text(&attributes, "e", "%zz%00");
	_cleanup_error_ struct error *err = attributes_parse(&attributes, "f=1,g");
	assert_int_equal(err->code, ERROR_USAGE);
	expect_text(&attributes, "f", "1");
}

static void attributes_are_clean_and_bounded(void **state)
{
	_cleanup_attributes_ struct attributes attributes = { 0 };
	assert_true(attributes_set(&attributes, "k", "a\nb\xff"));
	expect_text(&attributes, "k", "a\\x0ab\\xff");
	assert_false(attributes_set(&attributes, "", "x"));
	char key[16];
	for (int i = 1; i < ATTRIBUTES_MAX; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		assert_true(attributes_set(&attributes, key, "x"));
	}
	assert_false(attributes_set(&attributes, "one-more", "x"));
	assert_true(attributes_set(&attributes, "k1", "y"));
	expect_text(&attributes, "k1", "y");
}

static void a_url_says_the_protocol_and_the_path(void **state)
{
	static const struct {
		const char *url;
		enum push_protocol protocol;
		const char *posted;
	} expected[] = {
		{ "http://h:4318", PUSH_OTLP_HTTP, "http://h:4318/v1development/profiles" },
		{ "http://h:4318/", PUSH_OTLP_HTTP, "http://h:4318/v1development/profiles" },
		{ "https://h/api/default/v1/profiles", PUSH_OTLP_HTTP,
		  "https://h/api/default/v1/profiles" },
		{ "grpc://h", PUSH_OTLP_GRPC,
		  "http://h:4317/"
		  "opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export" },
		{ "grpcs://[::1]:7070/", PUSH_OTLP_GRPC,
		  "https://[::1]:7070/"
		  "opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export" },
		{ "grpc://[::1]", PUSH_OTLP_GRPC,
		  "http://[::1]:4317/"
		  "opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export" },
		{ "pyroscope+http://h:4040", PUSH_PYROSCOPE,
		  "http://h:4040/push.v1.PusherService/Push" },
		{ "PYROSCOPE+https://h/prefix/", PUSH_PYROSCOPE,
		  "https://h/prefix/push.v1.PusherService/Push" },
	};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct endpoint endpoint;
		assert_null(endpoint_parse(expected[i].url, &endpoint));
		assert_int_equal(endpoint.protocol, expected[i].protocol);
		assert_string_equal(endpoint.url, expected[i].posted);
		endpoint_deinit(&endpoint);
	}
}

static void a_base_url_gets_the_path_appended(void **state)
{
	struct endpoint endpoint;
	assert_null(endpoint_parse_base("http://h:1/otlp", false, &endpoint));
	assert_string_equal(endpoint.url, "http://h:1/otlp/v1development/profiles");
	endpoint_deinit(&endpoint);
	assert_null(endpoint_parse_base("https://h:1", true, &endpoint));
	assert_int_equal(endpoint.protocol, PUSH_OTLP_GRPC);
	endpoint_deinit(&endpoint);
}

static void a_url_that_is_none_is_refused_without_being_repeated(void **state)
{
	static const char *const urls[] = {
		"",
		"h:4318",
		"ftp://h",
		"http://",
		"http://:80",
		"http://u:secret@h",
		"http://h/#secret",
		"http://h/a b",
		"grpc://h/secret",
		"http://h\n",
	};
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct endpoint endpoint;
		_cleanup_error_ struct error *err = endpoint_parse(urls[i], &endpoint);
		assert_non_null(err);
		assert_int_equal(err->code, ERROR_USAGE);
		assert_null(strstr(err->message, "secret"));
	}
}

static struct error *parse(struct push_config *config, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	push_config_init(config);
	return push_config_parse(config, copy, NULL, NULL);
}

static void settings_are_lines_of_a_key_and_a_value(void **state)
{
	_cleanup_push_config_ struct push_config config;
	assert_null(parse(&config, "# where to\n"
				   "push = http://h:4318\n"
				   "\n"
				   "  header = X-One: 1 = one \n"
				   "header = x-one:2\n"
				   "tenant=team\n"
				   "basic = user:pass:word\n"
				   "label = env=prod=1\n"
				   "compression = none\n"
				   "request-timeout = 3\n"
				   "queue = 7\n"
				   "insecure = yes\n"
				   "ca-file = /etc/ca.pem"));
	assert_string_equal(config.url, "http://h:4318");
	assert_int_equal(config.headers.count, 3);
	assert_string_equal(config.headers.items[0], "x-one: 2");
	assert_string_equal(config.headers.items[1], "X-Scope-OrgID: team");
	assert_string_equal(config.headers.items[2], "Authorization: Basic dXNlcjpwYXNzOndvcmQ=");
	expect_text(&config.labels, "env", "prod=1");
	assert_false(config.gzip);
	assert_true(config.insecure);
	assert_int_equal(config.timeout_ns, 3 * NS_PER_S);
	assert_int_equal(config.queue, 7);
	assert_string_equal(config.ca_file, "/etc/ca.pem");
}

static void a_bad_line_is_named_and_nothing_of_it_repeated(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ "\nsecret", "line 2 is not KEY = VALUE" },
		{ "SECRET = 1", "line 1, the key: there is no such key" },
		{ "header = secret", "line 1, header: a header is written NAME: VALUE" },
		{ "header = sec ret: x",
		  "line 1, header: a header's name has a character that can not be in one" },
		{ "bearer-token =", "line 1, bearer-token: it has no value" },
		{ "bearer-token = a\rb", "line 1, bearer-token: a header has a control character" },
		{ "queue = 0", "line 1, queue: it is a whole number from 1 to 10000" },
		{ "queue = 10001", "line 1, queue: it is a whole number from 1 to 10000" },
		{ "insecure = maybe", "line 1, insecure: it is yes or no" },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		_cleanup_push_config_ struct push_config config;
		_cleanup_error_ struct error *err = parse(&config, bad[i].text);
		assert_non_null(err);
		assert_int_equal(err->code, ERROR_USAGE);
		assert_string_equal(err->message, bad[i].message);
	}
}

static void a_file_that_others_may_read_is_refused(void **state)
{
	char path[] = "/tmp/pysample-push-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "queue = 3\n", 10), 10);
	close(fd);
	struct push_config config;
	push_config_init(&config);
	assert_int_equal(chmod(path, 0640), 0);
	struct error *err = push_config_read(&config, path, NULL, NULL);
	assert_int_equal(err->code, ERROR_USAGE);
	error_destroy(err);
	assert_int_equal(config.queue, 30);
	assert_int_equal(chmod(path, 0600), 0);
	assert_null(push_config_read(&config, path, NULL, NULL));
	assert_int_equal(config.queue, 3);
	push_config_deinit(&config);
	unlink(path);
}

static void variables_say_what_the_file_does_not(void **state)
{
	_cleanup_push_config_ struct push_config config;
	push_config_init(&config);
	setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=abc%20d,x=y", 1);
	setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1500", 1);
	setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", 1);
	setenv("OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION", "none", 1);
	assert_null(push_config_environment(&config));
	assert_int_equal(config.headers.count, 2);
	assert_string_equal(config.headers.items[0], "api-key: abc d");
	assert_int_equal(config.timeout_ns, 1500 * NS_PER_MS);
	assert_false(config.gzip);

	const char *url;
	bool base, grpc;
	_cleanup_error_ struct error *err = push_config_environment_url(&url, &base, &grpc);
	assert_int_equal(err->code, ERROR_USAGE);
	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://base", 1);
	setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", 1);
	assert_null(push_config_environment_url(&url, &base, &grpc));
	assert_string_equal(url, "http://base");
	assert_true(base && grpc);
	setenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://own", 1);
	assert_null(push_config_environment_url(&url, &base, &grpc));
	assert_string_equal(url, "http://own");
	assert_false(base);
}

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void a_container_is_found_in_its_cgroup_or_mounts(void **state)
{
	static const struct {
		const char *cgroup, *mounts, *id;
	} expected[] = {
		{ "0::/system.slice/docker-" ID ".scope\n", "", ID },
		{ "12:pids:/docker/" ID "\n", "", ID },
		{ "0::/kubepods.slice/kubepods-burstable.slice/"
		  "kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice/"
		  "cri-containerd-" ID ".scope",
		  "", ID },
		{ "0::/\n",
		  "1 2 0:3 /layers/" ID2 " / rw - overlay overlay rw\n"
		  "4 5 8:1 /var/lib/docker/containers/" ID
		  "/hostname /etc/hostname rw - ext4 /dev/x rw\n",
		  ID },
		{ "0::/\n",
		  "4 5 8:1 /io.containerd.grpc.v1.cri/sandboxes/" ID
		  "/hostname /etc/hostname rw - ext4 /dev/x rw\n",
		  NULL },
		{ "0::/user.slice/a" ID "\n", "", NULL },
		{ "", "", NULL },
	};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		char id[65];
		bool found = resource_container_id(expected[i].cgroup, expected[i].mounts, id);
		assert_int_equal(found, expected[i].id != NULL);
		if (found)
			assert_string_equal(id, expected[i].id);
	}
}

static void a_pod_is_found_in_its_cgroup(void **state)
{
	char uid[37];
	assert_true(resource_pod_uid(
		"0::/kubepods.slice/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice/x",
		uid));
	assert_string_equal(uid, "01234567-89ab-cdef-0123-456789abcdef");
	assert_true(resource_pod_uid(
		"1:cpu:/kubepods/besteffort/pod01234567-89ab-cdef-0123-456789abcdef/" ID, uid));
	assert_false(resource_pod_uid("0::/pod01234567-89ab-cdef-0123-456789abcdef", uid));
	assert_false(resource_pod_uid("0::/kubepods/pod0123", uid));
}

static void answers_are_told_apart(void **state)
{
	static const struct {
		long status;
		int grpc;
		enum post_outcome outcome;
	} expected[] = {
		{ 200, -1, POST_TAKEN },   { 204, -1, POST_TAKEN },   { 301, -1, POST_REFUSED },
		{ 400, -1, POST_REFUSED }, { 401, -1, POST_REFUSED }, { 415, -1, POST_REFUSED },
		{ 429, -1, POST_RETRY },   { 500, -1, POST_REFUSED }, { 502, -1, POST_RETRY },
		{ 503, -1, POST_RETRY },   { 504, -1, POST_RETRY },   { 200, 0, POST_TAKEN },
		{ 200, 3, POST_REFUSED },  { 200, 8, POST_RETRY },    { 200, 13, POST_REFUSED },
		{ 200, 14, POST_RETRY },   { 200, 16, POST_REFUSED }, { 503, 0, POST_RETRY },
	};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(post_outcome(expected[i].status, expected[i].grpc),
				 expected[i].outcome);
}

static void a_partial_success_is_read(void **state)
{
	const char *message;
	size_t size;
	/* 1 {1: 300, 2: "no"} */
	assert_int_equal(otlp_rejected("\x0a\x07\x08\xac\x02\x12\x02no", 9, &message, &size), 300);
	assert_int_equal(size, 2);
	assert_memory_equal(message, "no", 2);
	assert_int_equal(otlp_rejected("", 0, &message, &size), 0);
	assert_int_equal(otlp_rejected("\x0a\x00", 2, &message, &size), 0);
	assert_int_equal(otlp_rejected("\x0a\x7f\x08", 3, &message, &size), 0);
	assert_int_equal(otlp_rejected("<html>", 6, &message, &size), 0);
}

static struct queue_item item(size_t size, uint64_t samples)
{
	return (struct queue_item){ .body = calloc(1, size), .size = size, .samples = samples };
}

static void what_is_too_much_takes_the_place_of_the_oldest(void **state)
{
	struct queue *queue;
	assert_null(queue_create(3, 100, &queue));
	for (uint64_t i = 1; i <= 4; i++)
		queue_put(queue, item(10, i));
	uint64_t items, samples;
	queue_dropped(queue, &items, &samples);
	assert_int_equal(items, 1);
	assert_int_equal(samples, 1);
	/* By bytes: 10 + 10 + 85 are too many, so are 10 + 85 no more. */
	queue_put(queue, item(85, 5));
	queue_dropped(queue, &items, &samples);
	assert_int_equal(items, 3 - 0);
	assert_int_equal(samples, 1 + 2 + 3);
	struct queue_item got;
	assert_true(queue_take(queue, &got));
	assert_int_equal(got.samples, 4);
	queue_item_deinit(&got);
	queue_close(queue);
	assert_true(queue_take(queue, &got));
	assert_int_equal(got.samples, 5);
	queue_item_deinit(&got);
	assert_false(queue_take(queue, &got));
	queue_destroy(queue);
}

static const struct push_window window = {
	.start_unix_ns = 0x0102030405060708,
	.duration_ns = 300,
	.id = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
};

/* main → f, twice, 0.3 µs. */
static struct profile *make_profile(void)
{
	struct profile *profile;
	assert_null(profile_create(&profile));
	profile->facts.mode = PROFILE_WALL;
	profile->stats.interval_ns = 150;
	uint32_t process = profile_process(profile, 7, PROFILE_NONE);
	uint32_t thread = profile_thread(profile, process, 8, "t");
	uint32_t main_frame =
		profile_frame(profile, profile_function(profile, "main", "a.py", 1, PROFILE_PYTHON),
			      4);
	uint32_t f_frame =
		profile_frame(profile, profile_function(profile, "f", "a.py", 2, PROFILE_PYTHON),
			      3);
	const uint32_t frames[] = { main_frame, f_frame };
	assert_int_equal(profile_add(profile, thread, frames, 2, REASON_OK, 0, 100, 0), REASON_OK);
	assert_int_equal(profile_add(profile, thread, frames, 2, REASON_OK, 0, 200, 0), REASON_OK);
	return profile;
}

static void check_bytes(const struct pb *pb, const char *bytes, size_t size)
{
	for (size_t i = 0; i < pb->size && i < size; i++)
		if (pb->data[i] != (uint8_t)bytes[i])
			fail_msg("byte %zu is %02x, not %02x", i, pb->data[i], (uint8_t)bytes[i]);
	assert_int_equal(pb->size, size);
}

static void a_profile_is_a_request_of_otlp(void **state)
{
	static const char expected[] =
		/* resource_profiles {resource {service.name "svc", process.pid 7}, */
		"\x0a\xb9\x01\x0a\x2a\x0a\x15\x0a\x0c\x73\x65\x72\x76\x69\x63\x65\x2e\x6e\x61\x6d"
		"\x65\x12\x05\x0a\x03\x73\x76\x63\x0a\x11\x0a\x0b\x70\x72\x6f\x63\x65\x73\x73\x2e"
		"\x70\x69\x64\x12\x02\x18\x07"
		/* scope_profiles {scope {pysample 0.1.0}, */
		"\x12\x8a\x01\x0a\x11\x0a\x08\x70\x79\x73\x61\x6d\x70\x6c\x65\x12\x05\x30\x2e\x31"
		"\x2e\x30"
		/* samples/count {stack 1, attributes 1 2 3, 2}, start, duration, wall/nanoseconds, period, id */
		"\x12\x39\x0a\x04\x08\x01\x10\x02\x12\x0a\x08\x01\x12\x03\x01\x02\x03\x22\x01\x02"
		"\x19\x08\x07\x06\x05\x04\x03\x02\x01\x20\xac\x02\x2a\x04\x08\x0a\x10\x0b\x30\x96"
		"\x01\x3a\x10\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"
		/* wall/nanoseconds {300} */
		"\x12\x3a\x0a\x04\x08\x0a\x10\x0b\x12\x0b\x08\x01\x12\x03\x01\x02\x03\x22\x02\xac"
		"\x02\x19\x08\x07\x06\x05\x04\x03\x02\x01\x20\xac\x02\x2a\x04\x08\x0a\x10\x0b\x30"
		"\x96\x01\x3a\x10\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x11"
		/* dictionary: an empty entry a table */
		"\x12\xd1\x01\x0a\x00\x12\x00\x1a\x00\x22\x00\x32\x00\x3a\x00\x2a\x00"
		/* strings, attributes, functions, locations and the stack as they are needed */
		"\x2a\x07\x73\x61\x6d\x70\x6c\x65\x73\x2a\x05\x63\x6f\x75\x6e\x74\x2a\x09\x74\x68"
		"\x72\x65\x61\x64\x2e\x69\x64\x32\x06\x08\x03\x12\x02\x18\x08\x2a\x0b\x74\x68\x72"
		"\x65\x61\x64\x2e\x6e\x61\x6d\x65\x32\x07\x08\x04\x12\x03\x0a\x01\x74\x2a\x0c\x73"
		"\x65\x72\x76\x69\x63\x65\x2e\x6e\x61\x6d\x65\x32\x09\x08\x05\x12\x05\x0a\x03\x73"
		"\x76\x63\x2a\x01\x66\x2a\x04\x61\x2e\x70\x79\x1a\x06\x08\x06\x18\x07\x20\x02\x2a"
		"\x12\x70\x72\x6f\x66\x69\x6c\x65\x2e\x66\x72\x61\x6d\x65\x2e\x74\x79\x70\x65\x32"
		"\x0d\x08\x08\x12\x09\x0a\x07\x63\x70\x79\x74\x68\x6f\x6e\x12\x09\x1a\x04\x08\x01"
		"\x10\x03\x22\x01\x04\x2a\x04\x6d\x61\x69\x6e\x1a\x06\x08\x09\x18\x07\x20\x01\x12"
		"\x09\x1a\x04\x08\x02\x10\x04\x22\x01\x04\x3a\x04\x0a\x02\x01\x02\x2a\x04\x77\x61"
		"\x6c\x6c\x2a\x0b\x6e\x61\x6e\x6f\x73\x65\x63\x6f\x6e\x64\x73";
	_cleanup_pb_ struct pb pb = { 0 };
	_cleanup_profile_ struct profile *profile = make_profile();
	_cleanup_attributes_ struct attributes resource = { 0 };
	attributes_set(&resource, "service.name", "svc");
	attributes_set_number(&resource, "process.pid", 7);
	uint64_t samples;
	assert_null(otlp_encode(profile, &window, &resource, &pb, &samples));
	assert_int_equal(samples, 2);
	check_bytes(&pb, expected, sizeof(expected) - 1);
}

static void nothing_is_made_of_a_profile_without_samples(void **state)
{
	_cleanup_pb_ struct pb pb = { 0 };
	_cleanup_profile_ struct profile *profile = NULL;
	assert_null(profile_create(&profile));
	profile_process(profile, 7, PROFILE_NONE);
	_cleanup_attributes_ struct attributes resource = { 0 };
	uint64_t samples = 1;
	assert_null(otlp_encode(profile, &window, &resource, &pb, &samples));
	assert_int_equal(samples, 0);
	assert_null(pyroscope_encode(profile, &window, &resource, &pb, &samples));
	assert_int_equal(pb.size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes_are_read_as_opentelemetry_writes_them),
		cmocka_unit_test(attributes_are_clean_and_bounded),
		cmocka_unit_test(a_url_says_the_protocol_and_the_path),
		cmocka_unit_test(a_base_url_gets_the_path_appended),
		cmocka_unit_test(a_url_that_is_none_is_refused_without_being_repeated),
		cmocka_unit_test(settings_are_lines_of_a_key_and_a_value),
		cmocka_unit_test(a_bad_line_is_named_and_nothing_of_it_repeated),
		cmocka_unit_test(a_file_that_others_may_read_is_refused),
		cmocka_unit_test(variables_say_what_the_file_does_not),
		cmocka_unit_test(a_container_is_found_in_its_cgroup_or_mounts),
		cmocka_unit_test(a_pod_is_found_in_its_cgroup),
		cmocka_unit_test(answers_are_told_apart),
		cmocka_unit_test(a_partial_success_is_read),
		cmocka_unit_test(what_is_too_much_takes_the_place_of_the_oldest),
		cmocka_unit_test(a_profile_is_a_request_of_otlp),
		cmocka_unit_test(nothing_is_made_of_a_profile_without_samples),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
