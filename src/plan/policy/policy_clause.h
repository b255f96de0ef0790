/* Clauses, which are the conditions of a policy on a value. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"
#include "plan/value/value.h"

enum clause_kind {
	CLAUSE_TRUSTED,	 /* all origins are trusted */
	CLAUSE_CHOSEN,	 /* all givers are trusted or in `givers`; choosers do not matter */
	CLAUSE_APPROVED, /* a person approved the value */
	CLAUSE_AT_MOST,	 /* the kind is at most `at_most` */
	CLAUSE_GREATEST, /* the greatest item of a list, if the request asks for it in a word */
	CLAUSE_LEAST,
	CLAUSE_ENDS_WITH, /* a text or list of texts: each ends with an element of `list` */
	CLAUSE_MEMBER,	  /* a value or list of values: each is an element of `list` */
};

struct clause {
	enum clause_kind kind;
	struct kind at_most;
	struct val list;	     /* tuple of strings (CLAUSE_MEMBER: or numbers) */
	uint32_t givers, start, end; /* givers: a set of origins */
	const struct extreme *extreme;
};

/* Alternative clauses, of which one must hold. An empty list demands nothing. */
struct clauses {
	const struct clause *item;
	uint32_t n, start, end;
};
