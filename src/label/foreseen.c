/*
 * Presumptions, and how they are settled.
 *
 * A branch that was *not* taken reveals information, too (an implicit flow). After "if x: y = 1",
 * for example, a y that has not changed reveals that x is false. A monitor that looks only at the
 * branch that runs would miss this flow. So when a region ends, the machine also labels what the
 * other branch might have written. But the machine only knows the names in the other branch. It
 * does not know whether these names are aliases of a given value, or whether a call in that branch
 * can happen. So such a label is only a presumption, which may or may not apply. The member
 * `presumed` keeps the presumption apart from the rest of the label, because enforcing all
 * presumptions would refuse harmless plans.
 *
 * The check knows more about the other branch, because it evaluates every branch on abstract
 * values. But the check knows less about this run, because it joins all possible runs into one.
 *
 * The label of the run (with its presumption) and the label of the check are both upper bounds:
 * each contains all origins whose data really flows. So an origin that one of the two labels lacks
 * does not flow, even if the other label contains it. The presumption is therefore settled at each
 * call: what the check did not find at this call is dropped from the presumption, and the rest is
 * joined to the label.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "label/foreseen.h"

#include <string.h>

static bool has_atom(const struct labels *all, uint32_t set, uint32_t atom)
{
	uint32_t one;
	for (size_t i = 0; (one = label_nth(all, set, i)); i++)
		if (one == atom)
			return true;
	return set == LABEL_ALL;
}

/* Return whether @set contains the origin that stands for all items of a tool. The tool is the
 * one to which the item @one belongs. For @one = "tool:mail#ann", for example, return whether
 * @set contains "tool:mail#*". */
static bool has_items(const struct labels *all, uint32_t set, const char *one)
{
	const char *of = strchr(one, '#');
	size_t bytes = of ? (size_t)(of - one) + 1 : 0;
	uint32_t atom;
	for (size_t i = 0; of && (atom = label_nth(all, set, i)); i++) {
		const char *text = label_text(all, atom);
		if (strncmp(text, one, bytes) == 0 && strcmp(text + bytes, "*") == 0)
			return true;
	}
	return false;
}

static bool is_origin_foreseen(const struct labels *all, uint32_t atom, uint32_t set)
{
	return has_atom(all, set, atom) || has_items(all, set, label_text(all, atom));
}

/*
 * An origin is a chooser of a value if its data is not in the value, but selected the value, for
 * example as an index. Return whether the origin @atom is only a chooser according to the label @l:
 * - If @atom is one of the origins in @l, this is so if @atom is also one of the choosers in @l.
 * - If @atom is not in @l, @atom may be the origin of one item, such as "tool:mail#ann". Then this
 *   is so if "tool:mail#*", which stands for all items of the tool, is one of the choosers in @l.
 */
static bool only_chooses(const struct labels *all, const struct label *l, uint32_t atom)
{
	return has_atom(all, l->choosers, atom) ||
		(!has_atom(all, l->origins, atom) &&
			has_items(all, l->choosers, label_text(all, atom)));
}

/* An origin is a giver of a value if its data is in the value, and a chooser if its data only
 * selected the value. Return false if some origin is a giver according to the label @x, but only
 * a chooser according to the label @y. Otherwise return true. */
static bool are_givers_foreseen(
	const struct labels *all, const struct label *x, const struct label *y)
{
	uint32_t atom;
	for (size_t i = 0; y->choosers && (atom = label_nth(all, x->origins, i)); i++)
		if (only_chooses(all, y, atom) && !has_atom(all, x->choosers, atom))
			return false;
	return true;
}

/* Return the label @id with its member `presumed` emptied. This member is the presumption: a
 * label that may or may not apply. */
static uint32_t plain(struct labels *all, uint32_t id)
{
	struct label l = label_get(all, id);
	if (l.presumed == LABEL_BOTTOM)
		return id;
	l.presumed = LABEL_BOTTOM;
	return label_intern(all, &l);
}

uint32_t label_presumed(struct labels *all, uint32_t id)
{
	if (id == LABEL_BOTTOM || id == LABEL_FAILED)
		return id;
	struct label l = {.readers = LABEL_ALL, .endorsements = LABEL_ALL};
	l.presumed = label_join(all, plain(all, id), label_get(all, id).presumed);
	return l.presumed == LABEL_FAILED ? LABEL_FAILED : label_intern(all, &l);
}

/* Return the greatest lower bound of the labels @run and @check. Both labels are upper bounds of
 * the same flow, so the result keeps only what both of them contain. An origin of @run is kept,
 * for example, only if the check found this origin, too. */
static uint32_t meet(struct labels *all, uint32_t run, uint32_t check)
{
	struct label l = label_get(all, run), upper = label_get(all, check);
	uint32_t origins = 0, atom;
	if (l.origins == LABEL_ALL || upper.origins == LABEL_ALL)
		origins = l.origins == LABEL_ALL ? upper.origins : l.origins;
	else
		for (size_t i = 0; (atom = label_nth(all, l.origins, i)); i++)
			if (is_origin_foreseen(all, atom, upper.origins))
				origins = label_union(all, origins, label_set(all, atom));
	l.origins = origins;
	for (size_t i = 0; upper.choosers && (atom = label_nth(all, origins, i)); i++)
		if (only_chooses(all, &upper, atom))
			l.choosers = label_union(all, l.choosers, label_set(all, atom));
	l.readers = label_union(all, l.readers, upper.readers);
	/* The result gets the lower of the two kinds. If neither kind is lower, each of them is
	 * a KIND_HANDLE or KIND_NAME, and their types differ: one may be a file, the other an
	 * e-mail address. Then the result gets KIND_DATE, the highest kind that is lower than
	 * both. */
	if (kind_is_below(upper.kind, l.kind))
		l.kind = upper.kind;
	else if (!kind_is_below(l.kind, upper.kind))
		l.kind = (struct kind){.rank = KIND_DATE};
	l.endorsements = label_union(all, l.endorsements, upper.endorsements);
	return label_intern(all, &l);
}

uint32_t label_settle(struct labels *all, uint32_t id, uint32_t check)
{
	if (id == LABEL_FAILED || label_get(all, id).presumed == LABEL_BOTTOM)
		return id;
	uint32_t more = label_get(all, id).presumed;
	if (check != LABEL_FAILED)
		more = meet(all, more, check);
	uint32_t both = more == LABEL_FAILED ? more : label_join(all, plain(all, id), more);
	return labels_has_failed(all) ? LABEL_FAILED : both;
}

bool label_is_below(const struct labels *all, uint32_t a, uint32_t b)
{
	struct label x = label_get(all, a), y = label_get(all, b);
	return label_is_subset(all, x.origins, y.origins) && are_givers_foreseen(all, &x, &y) &&
		label_is_subset(all, y.readers, x.readers) && kind_is_below(x.kind, y.kind) &&
		label_is_subset(all, y.endorsements, x.endorsements);
}

bool label_is_foreseen(const struct labels *all, uint32_t run, uint32_t check)
{
	struct label x = label_get(all, run), y = label_get(all, check);
	uint32_t atom;
	bool is_all = y.origins == LABEL_ALL;
	if (x.origins == LABEL_ALL && !is_all)
		return false;
	for (size_t i = 0; !is_all && (atom = label_nth(all, x.origins, i)); i++)
		if (!is_origin_foreseen(all, atom, y.origins))
			return false;
	return are_givers_foreseen(all, &x, &y) && label_is_subset(all, y.readers, x.readers) &&
		kind_is_below(x.kind, y.kind) &&
		label_is_subset(all, y.endorsements, x.endorsements);
}
