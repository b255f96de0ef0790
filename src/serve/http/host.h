/* Which Host and Origin a request may name: the wall against pages of other sites.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A page of any site can have a browser send requests to any address, and, when its name is bound
 * anew to that address, read the answers (DNS rebinding). Both tell by these headers.
 */
struct host_rules {
	const char *const *hosts; /* names beyond those of loopback: "engine.example" */
	size_t n_hosts;
	const char *const *origins; /* "https://console.example" */
	size_t n_origins;
};

/*
 * May @host, the value of the header, be asked for? Names of loopback, any address (no name can be
 * bound to what is none), and `hosts`, each with any port.
 * Source:  RFC 9110, 7.2; RFC 3986, 3.2.
 */
bool host_is_allowed(const struct host_rules *rules, const char *host);

/* May a page of @origin ask? Those of loopback names and `origins`. Source: RFC 6454, 7. */
bool origin_is_allowed(const struct host_rules *rules, const char *origin);
/* Is it one of `origins`? Its pages may read the answers, too. */
bool origin_is_named(const struct host_rules *rules, const char *origin);

/* Are these names and origins? Errors: ERR_USAGE with a hint. */
int host_rules_check(const struct host_rules *rules, struct err *err);
