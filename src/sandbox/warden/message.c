/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden/message.h"

#include "sandbox/warden/root.h"

#include <string.h>

/* The bounds of the limits. Within them, no arithmetic overflows and a box can start. It is left to
 * the user whether a value is sensible. */
static const struct {
	uint64_t min, max;
} bounds[LIMIT_END_] = {
	[LIMIT_memory_bytes] = {UINT64_C(4) << 20, UINT64_C(1) << 50},
	[LIMIT_cpu_milli] = {10, 4096 * 1000},
	[LIMIT_cpu_ms] = {1, UINT64_C(1) << 40},
	[LIMIT_timeout_ms] = {1, UINT64_C(1) << 40},
	[LIMIT_pids] = {1, 1 << 22},
	[LIMIT_disk_bytes] = {4096, UINT64_C(1) << 50},
	[LIMIT_disk_inodes] = {1, UINT64_C(1) << 31},
	[LIMIT_file_bytes] = {0, UINT64_C(1) << 60},
	[LIMIT_output_bytes] = {0, UINT64_C(1) << 40},
	[LIMIT_open_files] = {16, 1 << 20},
};

static int check_limits(const struct limits *limits, struct err *err)
{
	static const char *const names[LIMIT_END_] = {
#define X(name, value, what) #name,
		LIMITS(X)
#undef X
	};
	for (int i = 0; i < LIMIT_END_; i++)
		if (limits->value[i] < bounds[i].min || limits->value[i] > bounds[i].max)
			return err_set(err, ERR_USAGE,
				"limit %s of %llu is not between %llu and %llu", names[i],
				(unsigned long long)limits->value[i],
				(unsigned long long)bounds[i].min,
				(unsigned long long)bounds[i].max);
	return 0;
}

static bool is_text(const char *text, size_t room)
{
	return text[0] && memchr(text, '\0', room);
}

static int check_bind(const struct warden_bind *bind, struct err *err)
{
	if (bind->kind >= BIND_KIND_END_)
		return err_set(err, ERR_PROTOCOL, "unknown kind of bind %u", bind->kind);
	if (!is_text(bind->src, sizeof bind->src) || bind->src[0] != '/')
		return err_set(err, ERR_PROTOCOL, "bind without an absolute source");
	if (bind->kind == BIND_WORKSPACE || bind->kind == BIND_ROOTFS)
		return 0;
	if (!is_text(bind->dst, sizeof bind->dst))
		return err_set(err, ERR_PROTOCOL, "bind without a destination");
	return bind->kind == BIND_DRIVER ? root_check_driver_dst(bind->dst, err)
					 : root_check_dst(bind->dst, err);
}

int message_check(const struct warden_request *req, struct err *err)
{
	if (req->version != WIRE_VERSION)
		return err_set(
			err, ERR_PROTOCOL, "version %u, want %d", req->version, WIRE_VERSION);
	if (req->flags & ~(uint32_t)(req->op == WARDEN_CREATE ? WARDEN_FLAGS_ALL : 0))
		return err_set(err, ERR_PROTOCOL, "unknown flags %#x", req->flags);
	switch (req->op) {
	case WARDEN_BIND:
		return check_bind(&req->bind, err);
	case WARDEN_CREATE:
	case WARDEN_BRANCH:
		return check_limits(&req->limits, err);
	case WARDEN_USAGE:
	case WARDEN_DESTROY:
		return 0;
	case WARDEN_OPEN:
		return req->door < WARDEN_DOOR_END_
			? 0
			: err_set(err, ERR_PROTOCOL, "unknown door %u", req->door);
	default:
		return err_set(err, ERR_PROTOCOL, "unknown operation %u", req->op);
	}
}
