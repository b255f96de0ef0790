/* A plan that is run with the tools below, and what its values are labelled with.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * a(v), b(v) and c(v) give v back, as their own word; two(v, w) gives v, as that of both; mine(v)
 * is for ann and bob; bad() fails. mail(v) gives items: whose they are stands in `from`, and the
 * owner's word in `name`. The model says "x". The request is "to ann, 77 2026-11-22".
 *
 * Each call of log(), raw() and approve() is written down, apart by "; ". log(v) and approve(v)
 * show the label as policies see it: "a ?b/number+approved<ann,bob>!c" is of a, chosen by b, a
 * number, approved, for two readers, and c decided that the call is made; "~" is a text put
 * together, "-" is nobody's. What is not said is a text, endorsed by nobody, for everybody. raw(v)
 * shows what is presumed apart, in brackets: of the value and of the guard. A run that fails says
 * why: "P601", and "private" when its message may hold what is not the plan's.
 */
struct labelled {
	const char *plan, *want;
};

/* Run it: is that what is written down? */
void labelled_check(const char *plan, const char *want);
void labelled_check_all(const struct labelled *rows, size_t n);
