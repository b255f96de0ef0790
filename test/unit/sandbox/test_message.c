/* Requests to the warden: each field at its bounds and beyond. SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/warden/message.h"

#include "t.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	enum limit limit;
	uint64_t min, max;
} bounds[] = {
	{LIMIT_memory_bytes, 4 << 20, UINT64_C(1) << 50},
	{LIMIT_cpu_milli, 10, 4096000},
	{LIMIT_cpu_ms, 1, UINT64_C(1) << 40},
	{LIMIT_timeout_ms, 1, UINT64_C(1) << 40},
	{LIMIT_pids, 1, 1 << 22},
	{LIMIT_disk_bytes, 4096, UINT64_C(1) << 50},
	{LIMIT_disk_inodes, 1, UINT64_C(1) << 31},
	{LIMIT_file_bytes, 0, UINT64_C(1) << 60},
	{LIMIT_output_bytes, 0, UINT64_C(1) << 40},
	{LIMIT_open_files, 16, 1 << 20},
};

static struct warden_request *request(uint32_t op)
{
	static const struct limits usual = {.value = {
#define X(name, value, what) [LIMIT_##name] = (value),
						    LIMITS(X)
#undef X
					    }};
	static struct warden_request req;
	req = (struct warden_request){.version = WIRE_VERSION, .op = op, .limits = usual};
	limits_settle(&req.limits);
	req.bind.kind = BIND_VOLUME_RO;
	strcpy(req.bind.src, "/srv/data");
	strcpy(req.bind.dst, "/data");
	return &req;
}

static enum err_code check(const struct warden_request *req)
{
	struct err err = {0};
	int r = message_check(req, &err);
	CHECK_INT(r < 0, err.code != ERR_NONE);
	CHECK_INT(r, -err_errno(err.code));
	return err.code;
}

TEST(doors)
{
	struct warden_request *req = request(WARDEN_OPEN);
	for (uint32_t door = 0; door < WARDEN_DOOR_END_; door++) {
		req->door = door;
		CHECK_INT(check(req), ERR_NONE);
	}
	req->door = WARDEN_DOOR_END_;
	CHECK_INT(check(req), ERR_PROTOCOL);
	req->door = UINT32_MAX;
	CHECK_INT(check(req), ERR_PROTOCOL);
}

static struct warden_request *net_request(void)
{
	struct warden_request *req = request(WARDEN_OPEN);
	req->door = WARDEN_DOOR_NET;
	req->net.has_resolver = 1;
	for (uint32_t i = 0; i < WARDEN_LISTENERS_MAX; i++)
		req->net.listeners[i] = (struct warden_listener){0, 80 + i};
	for (uint32_t i = 0; i < WARDEN_NETWORKS_MAX; i++)
		req->net.networks[i] = (struct warden_network){(10u << 24) + (i << 8), 24};
	req->net.n_listeners = WARDEN_LISTENERS_MAX;
	req->net.n_networks = WARDEN_NETWORKS_MAX;
	return req;
}

TEST(counts_of_a_network)
{
	static const uint32_t too_many[] = {1, 2, 1000, UINT32_C(1) << 31};
	struct warden_request *req = net_request();
	CHECK_INT(check(req), ERR_NONE);
	for (size_t i = 0; i < ARRAY_LEN(too_many); i++) {
		net_request()->net.n_listeners += too_many[i];
		CHECK_INT(check(req), ERR_PROTOCOL);
		net_request()->net.n_networks += too_many[i];
		CHECK_INT(check(req), ERR_PROTOCOL);
		net_request()->net.has_resolver += too_many[i];
		CHECK_INT(check(req), ERR_PROTOCOL);
		net_request()->net.reserved += too_many[i];
		CHECK_INT(check(req), ERR_PROTOCOL);
	}
	net_request()->net.n_listeners = UINT32_MAX;
	CHECK_INT(check(req), ERR_PROTOCOL);
	/* Another door has no network, and does not look. */
	req->door = WARDEN_DOOR_SOCKET;
	CHECK_INT(check(req), ERR_NONE);
}

#define IP(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

/* Each as the last one of its array. */
TEST(networks_of_a_network)
{
	static const struct {
		struct warden_network net;
		enum err_code want;
	} rows[] = {
		{{IP(10, 0, 0, 0), 8}, ERR_NONE},
		{{IP(128, 0, 0, 0), 1}, ERR_USAGE},
		{{IP(255, 255, 255, 255), 32}, ERR_NONE},
		{{IP(198, 17, 255, 255), 32}, ERR_NONE},
		{{IP(198, 20, 0, 0), 14}, ERR_NONE},
		{{IP(126, 255, 0, 0), 16}, ERR_NONE},
		{{IP(10, 0, 0, 0), 0}, ERR_PROTOCOL},
		{{0, 0}, ERR_PROTOCOL},
		{{IP(10, 0, 0, 0), 33}, ERR_PROTOCOL},
		{{IP(10, 0, 0, 0), UINT32_MAX}, ERR_PROTOCOL},
		{{IP(10, 0, 0, 1), 31}, ERR_PROTOCOL},
		{{IP(10, 1, 0, 0), 8}, ERR_PROTOCOL},
		{{IP(0, 0, 0, 0), 1}, ERR_USAGE},
		{{IP(0, 0, 0, 0), 32}, ERR_USAGE},
		{{IP(0, 255, 0, 0), 16}, ERR_USAGE},
		{{IP(127, 0, 0, 0), 8}, ERR_USAGE},
		{{IP(127, 255, 255, 255), 32}, ERR_USAGE},
		{{IP(126, 0, 0, 0), 7}, ERR_USAGE},
		{{IP(198, 18, 0, 0), 15}, ERR_USAGE},
		{{IP(198, 19, 255, 255), 32}, ERR_USAGE},
		{{IP(198, 16, 0, 0), 15}, ERR_NONE},
		{{IP(198, 16, 0, 0), 14}, ERR_USAGE},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct warden_request *req = net_request();
		req->net.networks[WARDEN_NETWORKS_MAX - 1] = rows[i].net;
		if (!CHECK_INT(check(req), rows[i].want))
			printf("# row %zu\n", i);
	}
}

TEST(listeners_of_a_network)
{
	static const struct {
		struct warden_listener at;
		enum err_code want;
	} rows[] = {
		{{0, 1}, ERR_NONE},
		{{IP(10, 0, 0, 1), 65535}, ERR_NONE},
		{{IP(198, 18, 1, 0), 8080}, ERR_NONE},
		{{0, 0}, ERR_PROTOCOL},
		{{0, 65536}, ERR_PROTOCOL},
		{{0, UINT32_MAX}, ERR_PROTOCOL},
		{{IP(127, 0, 0, 1), 80}, ERR_PROTOCOL},
		{{IP(127, 255, 0, 1), 80}, ERR_PROTOCOL},
		{{IP(0, 0, 0, 1), 80}, ERR_PROTOCOL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct warden_request *req = net_request();
		req->net.listeners[WARDEN_LISTENERS_MAX - 1] = rows[i].at;
		if (!CHECK_INT(check(req), rows[i].want))
			printf("# row %zu\n", i);
	}
}

TEST(versions_and_operations)
{
	for (uint32_t op = 0; op < 9; op++) {
		bool is_known = (op >= WARDEN_BIND && op <= WARDEN_BRANCH) || op == WARDEN_OPEN;
		struct warden_request *req = request(op);
		CHECK_INT(check(req), is_known ? ERR_NONE : ERR_PROTOCOL);
		req->version = WIRE_VERSION + 1;
		CHECK_INT(check(req), ERR_PROTOCOL);
		req->version = 0;
		CHECK_INT(check(req), ERR_PROTOCOL);
	}
	CHECK_INT(check(request(UINT32_MAX)), ERR_PROTOCOL);
	CHECK_INT(check(request(WARDEN_CREATE | 1u << 31)), ERR_PROTOCOL);
}

TEST(every_limit_has_a_row_here)
{
	CHECK_INT(ARRAY_LEN(bounds), LIMIT_END_);
	for (size_t i = 0; i < ARRAY_LEN(bounds); i++)
		CHECK_INT(bounds[i].limit, i);
}

TEST(limits_at_and_beyond_their_bounds)
{
	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		const struct {
			uint64_t value;
			bool is_good;
		} rows[] = {{bounds[i].min, true}, {bounds[i].max, true},
			{bounds[i].min - 1, false}, /* of 0: UINT64_MAX */
			{bounds[i].max + 1, false}, {UINT64_MAX, false}, {UINT64_C(1) << 63, false},
			{0, bounds[i].min == 0}};
		for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
			struct warden_request *req = request(WARDEN_CREATE);
			req->limits.value[bounds[i].limit] = rows[k].value;
			if (!CHECK_INT(check(req), rows[k].is_good ? ERR_NONE : ERR_USAGE))
				printf("# limit %zu, row %zu\n", i, k);
		}
	}
}

TEST(ids_that_no_box_has)
{
	static const uint32_t ids[] = {UINT32_MAX, (uint32_t)INT32_MAX + 1};
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		struct warden_request *req = request(WARDEN_CREATE);
		req->uid = ids[i];
		CHECK_INT(check(req), ERR_PROTOCOL);
		req->uid = INT32_MAX;
		CHECK_INT(check(req), ERR_NONE);
		req->gid = ids[i];
		CHECK_INT(check(req), ERR_PROTOCOL);
	}
}

TEST(flags_matter_to_create_only)
{
	for (uint32_t bit = 0; bit < 32; bit++) {
		struct warden_request *req = request(WARDEN_CREATE);
		req->flags = UINT32_C(1) << bit;
		CHECK_INT(check(req), bit <= 1 ? ERR_NONE : ERR_PROTOCOL);
		req->op = WARDEN_BRANCH;
		CHECK_INT(check(req), ERR_PROTOCOL);
	}
}

TEST(limits_matter_to_branches_too)
{
	struct warden_request *req = request(WARDEN_BRANCH);
	req->limits.value[LIMIT_pids] = 0;
	CHECK_INT(check(req), ERR_USAGE);
}

TEST(limits_matter_to_create_only)
{
	static const uint32_t others[] = {WARDEN_BIND, WARDEN_USAGE, WARDEN_DESTROY};
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		struct warden_request *req = request(others[i]);
		memset(&req->limits, 0xff, sizeof req->limits);
		CHECK_INT(check(req), ERR_NONE);
	}
}

TEST(error_names_the_limit_and_its_bounds)
{
	struct warden_request *req = request(WARDEN_CREATE);
	struct err err;
	req->limits.value[LIMIT_open_files] = 15;
	CHECK_INT(message_check(req, &err), -EINVAL);
	CHECK_STR(err.msg, "limit open_files of 15 is not between 16 and 1048576");
}

TEST(kinds_of_bind)
{
	struct warden_request *req = request(WARDEN_BIND);
	for (uint32_t kind = 0; kind < BIND_KIND_END_; kind++) {
		bool is_driver = kind == BIND_DRIVER;
		req->bind.kind = kind;
		strcpy(req->bind.dst, is_driver ? "/retort/python" : "/data");
		CHECK_INT(check(req), ERR_NONE);
		if (kind == BIND_WORKSPACE || kind == BIND_IMAGE || kind == BIND_LAYER)
			continue;
		/* A volume may not stand where a driver goes, nor a driver anywhere else. */
		strcpy(req->bind.dst, is_driver ? "/data" : "/retort/python");
		CHECK(check(req) != ERR_NONE);
	}
	strcpy(req->bind.dst, "/data");
	req->bind.kind = BIND_KIND_END_;
	CHECK_INT(check(req), ERR_PROTOCOL);
	req->bind.kind = UINT32_MAX;
	CHECK_INT(check(req), ERR_PROTOCOL);
}

static enum err_code check_bind(uint32_t kind, const char *src, const char *dst)
{
	struct warden_request *req = request(WARDEN_BIND);
	req->bind.kind = kind;
	snprintf(req->bind.src, sizeof req->bind.src, "%s", src);
	snprintf(req->bind.dst, sizeof req->bind.dst, "%s", dst);
	return check(req);
}

TEST(sources_and_destinations)
{
	CHECK_INT(check_bind(BIND_VOLUME_RW, "", "/data"), ERR_PROTOCOL);
	CHECK_INT(check_bind(BIND_VOLUME_RW, "srv", "/data"), ERR_PROTOCOL);
	CHECK_INT(check_bind(BIND_VOLUME_RW, "/", "/data"), ERR_NONE);
	CHECK_INT(check_bind(BIND_VOLUME_RW, "/srv", ""), ERR_PROTOCOL);
	CHECK_INT(check_bind(BIND_VOLUME_RW, "/srv", "data"), ERR_USAGE);
	CHECK_INT(check_bind(BIND_VOLUME_RW, "/srv", "/etc"), ERR_USAGE);
	CHECK_INT(check_bind(BIND_VOLUME_RO, "/srv", "/a/../b"), ERR_USAGE);
	/* Where these two go is not theirs to say. */
	CHECK_INT(check_bind(BIND_WORKSPACE, "/srv", "/etc"), ERR_NONE);
	CHECK_INT(check_bind(BIND_IMAGE, "/srv", ""), ERR_NONE);
	CHECK_INT(check_bind(BIND_IMAGE, "srv", ""), ERR_PROTOCOL);
	CHECK_INT(check_bind(BIND_LAYER, "/srv", ""), ERR_NONE);
	CHECK_INT(check_bind(BIND_LAYER, "srv", ""), ERR_PROTOCOL);
	CHECK_INT(check_bind(BIND_INSTALLATION, "/opt/py", "/usr"), ERR_USAGE);
	CHECK_INT(check_bind(BIND_INSTALLATION, "/opt/py", ""), ERR_PROTOCOL);
}

TEST(texts_without_end)
{
	struct warden_request *req = request(WARDEN_BIND);
	memset(req->bind.src, '/', sizeof req->bind.src);
	CHECK_INT(check(req), ERR_PROTOCOL);
	req->bind.src[sizeof req->bind.src - 1] = '\0';
	CHECK_INT(check(req), ERR_NONE);
	memset(req->bind.dst, 'a', sizeof req->bind.dst);
	req->bind.dst[0] = '/';
	CHECK_INT(check(req), ERR_PROTOCOL);
	req->bind.dst[200] = '\0';
	CHECK_INT(check(req), ERR_NONE);
}

TEST(cpu_time_that_nobody_gave_follows)
{
	static const struct {
		uint64_t timeout_ms, cpu_milli, given_ms, want_ms;
	} rows[] = {
		{30000, 1000, 0, 30000},
		{30000, 500, 0, 15000},
		{30000, 4000, 0, 120000},
		{1, 10, 0, 1},
		{30000, 1000, 77, 77},
		{UINT64_C(1) << 40, 4096000, 0, UINT64_C(1) << 40},
		{UINT64_MAX, 1, 0, (UINT64_C(1) << 40) / 1000 + 1},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct limits limits = {.value = {[LIMIT_timeout_ms] = rows[i].timeout_ms,
						[LIMIT_cpu_milli] = rows[i].cpu_milli,
						[LIMIT_cpu_ms] = rows[i].given_ms}};
		limits_settle(&limits);
		CHECK_INT((long long)limits.value[LIMIT_cpu_ms], (long long)rows[i].want_ms);
	}
}
