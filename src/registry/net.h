/* The network rules of a session. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/registry.h"

/* New network rules of a session. */
struct registry_net {
	const char *session;
	const char *const *rules; /* @n texts, see gateway/rule/rule.h; NULL: only tell the rules */
	size_t n;
	bool is_more; /* add the rules to those of the session; else replace these */
	/* New values of secrets that the session has; may be empty. */
	const struct secrets *secrets;
};

/*
 * Change the network rules of a session, also while a step runs. They are stored in the journal, so
 * that the session has them when it is reopened. Branches that are made later have them, too.
 * Connections that the new rules do not allow end.
 * Result: {session, "net": [texts]}. Errors: ERR_DENIED (this owner may not), ERR_USAGE (also: the
 * session has no such secret; its box was not made for rules for requests), ERR_LIMIT,
 * ERR_BUSY (a port is taken, or the rules are being changed), ERR_NO_SPACE.
 */
void registry_net(
	struct registry *r, const struct registry_net *net, registry_done_fn *done, void *arg);

/* Return the rules of a session as an array of texts. @e: its entry. Owns: the caller decrefs.
 * Returns: NULL if it has none. */
struct entry;
json_t *registry_net_json(const struct entry *e);
