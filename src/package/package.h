/*
 * Named sets of network rules: the hosts from which the clients of this host get packages.
 *
 * "pypi", "npm", "go", "debian" and "crates" in the place of a rule stand for the hosts of a
 * registry, as the clients of this host are configured (pip, npm, go, apt and cargo): retort has no
 * list of its own. "!pypi" is the same, with "!" before each rule for a name. A host that is really
 * called like a set is written with its port: npm:443.
 *
 * A registry on this host's loopback gets the name SET.host.internal in the box, by a rule with
 * "=", and the variables name it so. Addresses with a user name, a password or a query are refused,
 * because programs in the box would read them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Return whether one of the @n texts @net is the name of a set. */
bool package_has_set(const char *const *net, size_t n);

/* What rules become. Owns: the caller ends it with package_expansion_done(). */
struct package_expansion {
	char **net; /* concrete rules; NULL if @has_set is false: then they are as they were given
		     */
	size_t n_net;
	/* Variables NAME=VALUE that clients in a box need, because they do not see the
	 * configuration of this host. A value that begins with "/" is a file of certificates. */
	char **env;
	size_t n_env;
	bool has_set;
};

/*
 * Replace each set among the @n texts @net by rules. Other texts are not looked at; without a set,
 * nothing is run or read.
 *
 * Blocks: the first time that a set is named, until the client of the host has answered, for at
 * most 10 s. Answers are kept as long as this process lives, failures for a minute.
 * Errors: ERR_RUNTIME: the host has no such client, or it does not answer. ERR_USAGE: what it is
 * configured with cannot be used. Each with a hint.
 */
int package_expand(
	struct package_expansion *out, const char *const *net, size_t n, struct err *err);
void package_expansion_done(struct package_expansion *e);

/* Forget all answers. For tests. */
void package_forget(void);
