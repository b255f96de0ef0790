/*
 * Clauses. A clause is a condition of the policy on a value.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "label/label.h"
#include "plan/value/value.h"

enum clause_kind {
	CLAUSE_TRUSTED, /* all origins of the value are trusted */
	/* Each origin whose data is in the value is trusted or in `givers`. Origins whose data only
	 * selected the value do not matter. */
	CLAUSE_CHOSEN,
	CLAUSE_APPROVED, /* a person approved the value */
	CLAUSE_AT_MOST,	 /* the kind of the value is at most `at_most` */
	/* The request asks for the greatest item of a list, such as the largest file, and the
	 * value is what the clause allows for this item, such as its name. See struct extreme. */
	CLAUSE_GREATEST,
	CLAUSE_LEAST,	  /* as CLAUSE_GREATEST, for the least item */
	CLAUSE_ENDS_WITH, /* each text in the value ends with an element of `list` */
	CLAUSE_MEMBER,	  /* each text or number in the value is an element of `list` */
};

struct clause {
	enum clause_kind kind;
	struct kind at_most;
	struct val list; /* tuple of strings; for CLAUSE_MEMBER, also of other constants */
	/* `givers`: for CLAUSE_CHOSEN, the set of origins that the clause names. `start` and `end`:
	 * offsets in the source of the policy. */
	uint32_t givers, start, end;
	const struct extreme *extreme;
};

/* Alternative clauses. In `allow` and `when`, at least one must hold; in `deny`, all must fail.
 * An empty list demands nothing. */
struct clauses {
	const struct clause *item;
	uint32_t n, start, end;
};
