/*
 * The hosts of networks that a tool reads from, as its server declares them:
 *
 *   "_meta": {"retort/net": ["*.example.org", "192.0.2.0/24", "api.example"]}
 *
 * Results of the tool get an origin for each host. So a declaration that is not understood must not
 * count as none: it becomes ["any"], as does one of more than TOOL_HOSTS_MAX hosts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "tool/schema.h"

/* Read the hosts of a tool's "_meta", which may be NULL, into @out. Returns: 0 or -ENOMEM. */
int hosts_read(struct tool_shelf *shelf, const json_t *meta, struct tool *out);

/* Copy the hosts of a server's "_meta", which may be NULL, to a new "_meta": sorted, each once.
 * Owns: the caller decrefs the result. Returns: NULL if it declares none. */
json_t *hosts_meta(const json_t *meta);
