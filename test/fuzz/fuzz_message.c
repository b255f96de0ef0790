/* What the warden reads. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "sandbox/warden/message.h"

#include <stddef.h>
#include <string.h>

static void check_net(const struct warden_net *net)
{
	MUST(net->has_resolver <= 1 && net->n_listeners <= WARDEN_LISTENERS_MAX);
	MUST(net->n_networks <= WARDEN_NETWORKS_MAX);
	for (uint32_t i = 0; i < net->n_listeners; i++)
		MUST(net->listeners[i].port > 0 && net->listeners[i].port <= UINT16_MAX);
	for (uint32_t i = 0; i < net->n_networks; i++) {
		const struct warden_network *n = &net->networks[i];
		MUST(n->bits >= 1 && n->bits <= 32);
		MUST(n->ip >> 24 != 0 && n->ip >> 24 != 127);
		MUST(n->ip >> 17 != WARDEN_NET_IP >> 17);
	}
}

static void check_accepted(const struct warden_request *req)
{
	MUST(req->version == WIRE_VERSION);
	MUST(req->op >= WARDEN_BIND && req->op < WARDEN_OP_END_);
	if (req->op == WARDEN_CREATE)
		for (int i = 0; i < LIMIT_END_; i++)
			MUST(req->limits.value[i] <= UINT64_C(1) << 60);
	MUST(req->op != WARDEN_OPEN || req->door < WARDEN_DOOR_END_);
	if (req->op == WARDEN_OPEN && req->door == WARDEN_DOOR_NET)
		check_net(&req->net);
	if (req->op != WARDEN_BIND)
		return;
	MUST(req->bind.kind < BIND_KIND_END_);
	MUST(memchr(req->bind.src, '\0', sizeof req->bind.src) && req->bind.src[0] == '/');
	if (req->bind.kind == BIND_WORKSPACE || req->bind.kind == BIND_IMAGE ||
		req->bind.kind == BIND_LAYER)
		return;
	MUST(memchr(req->bind.dst, '\0', sizeof req->bind.dst) && req->bind.dst[0] == '/');
	MUST(!strstr(req->bind.dst, "//") && !strstr(req->bind.dst, "/../"));
}

static void put_text(char *out, size_t room, const uint8_t *text, size_t bytes)
{
	if (bytes > 0)
		memcpy(out, text, bytes < room ? bytes : room);
}

/* The fixed fields as they are sent, then source and destination apart by NUL; the destination's
 * place has the network of a door. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct warden_request req;
	const size_t fixed = offsetof(struct warden_request, bind.src);
	const uint8_t *src;
	struct err err = {0};
	memset(&req, 0, sizeof req);
	put_text((char *)&req, fixed, data, bytes);
	data += bytes < fixed ? bytes : fixed;
	bytes -= bytes < fixed ? bytes : fixed;
	size_t n_src = fuzz_part(&data, &bytes, &src);
	put_text(req.bind.src, sizeof req.bind.src, src, n_src);
	if (req.op == WARDEN_OPEN)
		put_text((char *)&req.net, sizeof req.net, data, bytes);
	else
		put_text(req.bind.dst, sizeof req.bind.dst, data, bytes);
	if (message_check(&req, &err) == 0)
		check_accepted(&req);
	else
		MUST(err.code == ERR_PROTOCOL || err.code == ERR_USAGE);
	return 0;
}
