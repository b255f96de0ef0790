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
	if (bind->kind == BIND_WORKSPACE || bind->kind == BIND_IMAGE || bind->kind == BIND_LAYER)
		return 0;
	if (!is_text(bind->dst, sizeof bind->dst))
		return err_set(err, ERR_PROTOCOL, "bind without a destination");
	return bind->kind == BIND_DRIVER ? root_check_driver_dst(bind->dst, err)
					 : root_check_dst(bind->dst, err);
}

/* Networks that no request may take: programs of the box use the loopback for themselves, and the
 * other two have their meaning already. */
static const struct warden_network reserved[] = {
	{0, 8},
	{UINT32_C(127) << 24, 8},
	{WARDEN_NET_IP, WARDEN_NET_BITS},
};

static uint32_t mask_of(uint32_t bits)
{
	return UINT32_MAX << (32 - bits);
}

/* Return whether the two have an address in common. */
static bool have_common(const struct warden_network *a, const struct warden_network *b)
{
	return ((a->ip ^ b->ip) & mask_of(MIN(a->bits, b->bits))) == 0;
}

static int check_network(const struct warden_network *net, struct err *err)
{
	if (net->bits < 1 || net->bits > 32 || (net->ip & ~mask_of(net->bits)) != 0)
		return err_set(err, ERR_PROTOCOL, "%#x/%u is no network", net->ip, net->bits);
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (have_common(net, &reserved[i]))
			return err_fail(err, ERR_USAGE,
				"leave out 0.0.0.0/8, 127.0.0.0/8 and 198.18.0.0/15, which a box "
				"has already",
				"a box cannot have the network %u.%u.%u.%u/%u", net->ip >> 24,
				net->ip >> 16 & 255, net->ip >> 8 & 255, net->ip & 255, net->bits);
	return 0;
}

/* A listener may have no address of the loopback, where programs of the box have their ports. */
static int check_listener(const struct warden_listener *at, struct err *err)
{
	bool is_local = at->ip >> 24 == 127 || (at->ip != 0 && at->ip >> 24 == 0);
	return at->port >= 1 && at->port <= UINT16_MAX && !is_local
		? 0
		: err_set(err, ERR_PROTOCOL, "no listener can be at %#x:%u", at->ip, at->port);
}

static int check_net(const struct warden_net *net, struct err *err)
{
	int r = 0;
	if (net->has_resolver > 1 || net->reserved != 0 ||
		net->n_listeners > WARDEN_LISTENERS_MAX || net->n_networks > WARDEN_NETWORKS_MAX)
		return err_set(err, ERR_PROTOCOL, "a network of %u listeners and %u networks",
			net->n_listeners, net->n_networks);
	for (uint32_t i = 0; r == 0 && i < net->n_networks; i++)
		r = check_network(&net->networks[i], err);
	for (uint32_t i = 0; r == 0 && i < net->n_listeners; i++)
		r = check_listener(&net->listeners[i], err);
	return r;
}

static int check_door(const struct warden_request *req, struct err *err)
{
	if (req->door >= WARDEN_DOOR_END_)
		return err_set(err, ERR_PROTOCOL, "unknown door %u", req->door);
	return req->door == WARDEN_DOOR_NET ? check_net(&req->net, err) : 0;
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
		if (req->uid > INT32_MAX || req->gid > INT32_MAX)
			return err_set(err, ERR_PROTOCOL, "the ids %u and %u", req->uid, req->gid);
		return check_limits(&req->limits, err);
	case WARDEN_USAGE:
	case WARDEN_DESTROY:
		return 0;
	case WARDEN_OPEN:
		return check_door(req, err);
	default:
		return err_set(err, ERR_PROTOCOL, "unknown operation %u", req->op);
	}
}
