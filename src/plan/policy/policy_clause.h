/* What a policy asks of a value. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"
#include "plan/value/value.h"

enum clause_kind {
	CLAUSE_TRUSTED,	 /* all of its origins are */
	CLAUSE_CHOSEN,	 /* all of it is of origins that are, or of `givers`: others only chose */
	CLAUSE_APPROVED, /* a person said yes to it */
	CLAUSE_AT_MOST,	 /* nobody could choose more than that */
	CLAUSE_GREATEST, /* of that item of a list, and the request has a word for it */
	CLAUSE_LEAST,
	CLAUSE_ENDS_WITH, /* a text, or a list of texts: each ends with one of `list` */
	CLAUSE_MEMBER,	  /* the same: each is one of `list` */
};

struct clause {
	enum clause_kind kind;
	struct kind at_most;
	struct val list;	     /* tuple of strings (CLAUSE_MEMBER: or numbers) */
	uint32_t givers, start, end; /* givers: a set of origins */
	const struct extreme *extreme;
};

/* One of them is enough; none of them is in it: nothing is asked. */
struct clauses {
	const struct clause *item;
	uint32_t n, start, end;
};
