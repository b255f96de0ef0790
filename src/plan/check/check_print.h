/* What printing findings as text and as JSON has in common. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/check/check.h"

/* Append. Each returns 0, -E2BIG or -ENOMEM. @all: how a set of everything is called. */
int print_atoms(struct buf *out, const struct labels *labels, uint32_t set, const char *all);
int print_label(struct buf *out, const struct labels *labels, uint32_t id);
int print_finding(struct buf *out, const struct check *c, const struct check_call *call,
	const struct finding *f);
int finding_message(struct buf *out, const struct check_call *call, const struct finding *f);

/* P401 to P406, and the words for a kind, a question and its answer. */
int finding_code(const struct finding *f);
int print_clauses(struct buf *out, const struct policy *p, const struct clauses *all);
const char *kind_text(enum label_kind rank);
const char *check_word(enum policy_check check);
const char *answer_text(const struct finding *f);
