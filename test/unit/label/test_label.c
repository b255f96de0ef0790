/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "label/foreseen.h"

#include "base/attr.h"
#include "label/label.h"

#include <stdio.h>
#include <string.h>

enum { N_SAMPLES = 400, MAX_BYTES = 64 << 20 };

static uint32_t atom(struct labels *all, const char *text)
{
	return label_atom(all, text, strlen(text));
}

/* Numbers that are the same each time. */
static uint32_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static uint32_t some_set(struct labels *all, uint64_t *state, bool may_be_all)
{
	char text[16];
	uint32_t set = 0, n = next(state) % 4;
	if (may_be_all && n == 3)
		return LABEL_ALL;
	for (uint32_t i = 0; i < n; i++) {
		snprintf(text, sizeof text, "atom%u", next(state) % 5);
		set = label_union(all, set, label_set(all, atom(all, text)));
	}
	return set;
}

static uint32_t some_label(struct labels *all, uint64_t *state)
{
	struct label l = {
		.origins = some_set(all, state, false), .readers = some_set(all, state, true)};
	l.kind.rank = (enum label_kind)(next(state) % 8);
	l.kind.size = next(state) % 6;
	l.kind.type = next(state) % 3;
	l.endorsements = some_set(all, state, true);
	return label_intern(all, &l);
}

TEST(joins_make_a_lattice)
{
	struct labels *all = labels_new(MAX_BYTES);
	uint64_t state = 42;
	for (int i = 0; i < N_SAMPLES * 10; i++) {
		uint32_t a = some_label(all, &state), b = some_label(all, &state),
			 c = some_label(all, &state);
		uint32_t ab = label_join(all, a, b);
		CHECK_INT(label_join(all, a, a), a);
		CHECK_INT(label_join(all, b, a), ab);
		CHECK_INT(label_join(all, ab, c), label_join(all, a, label_join(all, b, c)));
		CHECK(label_is_below(all, a, ab) && label_is_below(all, b, ab));
		CHECK_INT(label_is_below(all, a, b), ab == b);
		CHECK(label_is_below(all, LABEL_BOTTOM, a));
		CHECK_INT(label_join(all, LABEL_BOTTOM, a), a);
		/* The least: whatever is above both is above the join. */
		if (label_is_below(all, a, c) && label_is_below(all, b, c))
			CHECK(label_is_below(all, ab, c));
		if (label_is_below(all, a, b) && label_is_below(all, b, c))
			CHECK(label_is_below(all, a, c));
		if (label_is_below(all, a, b) && label_is_below(all, b, a))
			CHECK_INT(a, b);
	}
	CHECK(!labels_has_failed(all));
	labels_free(all);
}

/* What is presumed counts as far as the check bears it out, and what is there always does. */
TEST(what_is_presumed_is_settled_by_the_check)
{
	struct labels *all = labels_new(MAX_BYTES);
	uint64_t state = 7;
	size_t n_less = 0;
	for (int i = 0; i < N_SAMPLES * 10; i++) {
		uint32_t a = some_label(all, &state), b = some_label(all, &state),
			 check = some_label(all, &state);
		uint32_t v = label_join(all, a, label_presumed(all, b)),
			 settled = label_settle(all, v, check), ab = label_join(all, a, b);
		CHECK_INT(label_settle(all, a, check), a);
		CHECK_INT(label_settle(all, v, LABEL_FAILED), ab);
		CHECK(label_is_below(all, a, settled) && label_is_below(all, settled, ab));
		CHECK(label_is_below(all, settled, label_join(all, a, check)));
		if (label_is_below(all, b, check))
			CHECK_INT(settled, ab);
		n_less += settled != ab;
	}
	CHECK(n_less > N_SAMPLES && !labels_has_failed(all));
	labels_free(all);
}

TEST(each_part_joins_its_way)
{
	struct labels *all = labels_new(MAX_BYTES);
	uint32_t user = label_set(all, atom(all, "user")),
		 mail = label_set(all, atom(all, "tool:mail"));
	uint32_t ann = label_set(all, atom(all, "ann")), bob = label_set(all, atom(all, "bob"));
	uint32_t both = label_union(all, ann, bob);
	struct label x = {.origins = user,
			     .readers = both,
			     .kind = {KIND_BOOL, 0, 0},
			     .endorsements = ann},
		     y = {.origins = mail, .readers = ann, .kind = {KIND_ENUM, 5, 0}};
	struct label j =
		label_get(all, label_join(all, label_intern(all, &x), label_intern(all, &y)));
	CHECK_INT(j.origins, label_union(all, user, mail));
	CHECK_INT(j.readers, ann);
	CHECK_INT(j.kind.rank, KIND_ENUM);
	CHECK_INT(j.kind.size, 5);
	CHECK_INT(j.endorsements, 0);
	CHECK_INT(label_intersection(all, ann, bob), 0);
	CHECK(label_is_subset(all, ann, both) && !label_is_subset(all, both, ann));
	CHECK_STR(label_text(all, label_nth(all, both, 1)), "bob");
	CHECK_INT(label_nth(all, both, 2), 0);
	labels_free(all);
}

/* Who chose and who gave are told apart until something is made of it. */
TEST(a_choice_is_no_gift)
{
	struct labels *all = labels_new(MAX_BYTES);
	uint32_t user = label_set(all, atom(all, "user")), mail = label_set(all, atom(all, "mail"));
	struct label x = {.origins = user, .readers = LABEL_ALL, .endorsements = LABEL_ALL},
		     y = {.origins = mail, .readers = LABEL_ALL, .kind = {KIND_NUMBER, 0, 0}};
	uint32_t given = label_intern(all, &x), number = label_intern(all, &y);
	uint32_t chosen = label_join(all, given, label_choice(all, number));
	CHECK_INT(label_givers(all, chosen), user);
	CHECK_INT(label_get(all, chosen).origins, label_union(all, user, mail));
	CHECK_INT(label_givers(all, label_join(all, chosen, number)), label_union(all, user, mail));
	CHECK_INT(label_givers(all, label_made(all, chosen)), label_union(all, user, mail));
	CHECK_INT(label_givers(all, label_choice(all, chosen)), 0);
	CHECK(label_is_below(all, chosen, label_join(all, given, number)));
	CHECK(!label_is_below(all, label_join(all, given, number), chosen));
	uint32_t form = label_composed(all, chosen), again = label_composed(all, form);
	CHECK_INT(label_givers(all, form), user);
	CHECK_INT(label_get(all, form).kind.rank, KIND_NUMBER);
	CHECK_INT(label_givers(all, again), label_union(all, user, mail));
	CHECK_INT(label_get(all, again).kind.rank, KIND_TEXT);
	CHECK_INT(label_choice(all, LABEL_BOTTOM), LABEL_BOTTOM);
	CHECK_INT(label_composed(all, LABEL_BOTTOM), LABEL_BOTTOM);
	struct label any = {.origins = LABEL_ALL, .choosers = mail};
	CHECK_INT(label_givers(all, label_intern(all, &any)), LABEL_ALL);
	labels_free(all);
}

/* What is presumed, and what is put together, is told by the same rules. */
TEST(what_is_made_is_not_endorsed)
{
	struct labels *all = labels_new(MAX_BYTES);
	uint32_t mail = label_set(all, atom(all, "mail")), user = label_set(all, atom(all, "user"));
	struct label x = {.origins = mail, .readers = LABEL_ALL, .endorsements = user},
		     odd = {.origins = mail, .readers = LABEL_ALL, .choosers = user},
		     number = {.origins = mail, .readers = LABEL_ALL, .kind = {KIND_NUMBER, 0, 0}};
	uint32_t seen = label_intern(all, &x), presumed = label_presumed(all, seen);
	CHECK_INT(label_get(all, label_made(all, seen)).endorsements, 0);
	CHECK_INT(label_get(all, label_composed(all, seen)).endorsements, 0);
	CHECK_INT(label_made(all, presumed), label_presumed(all, label_made(all, seen)));
	CHECK_INT(label_composed(all, presumed), label_presumed(all, label_composed(all, seen)));
	/* Nobody has chosen what is not theirs. */
	CHECK_INT(label_get(all, label_intern(all, &odd)).choosers, 0);
	/* In either order. */
	uint32_t before = label_intern(all, &number), form = label_composed(all, before);
	number.origins = user;
	uint32_t after = label_intern(all, &number);
	CHECK(label_get(all, label_join(all, before, form)).is_composed);
	CHECK(label_get(all, label_join(all, form, after)).is_composed);
	labels_free(all);
}

TEST(kinds_of_two_types_are_of_any)
{
	struct kind a = {KIND_HANDLE, 0, 1}, b = {KIND_HANDLE, 0, 2}, name = {KIND_NAME, 0, 1},
		    text = {KIND_TEXT, 0, 0};
	CHECK_INT(kind_join(a, b).type, 0);
	CHECK_INT(kind_join(a, name).type, 1);
	CHECK_INT(kind_join(b, name).type, 0);
	CHECK(kind_is_below(a, name) && !kind_is_below(b, name) && kind_is_below(b, text));
	CHECK(!kind_is_below(kind_join(a, b), a));
}

/* The items of one are among those of anybody, of that tool only. */
TEST(items_are_foreseen)
{
	struct labels *all = labels_new(MAX_BYTES);
	static const struct {
		const char *run, *check;
		bool is;
	} rows[] = {{"tool:mail#ann", "tool:mail#*", true},
		{"tool:mail#ann", "tool:mail#ann", true}, {"tool:mail#ann", "tool:mail#bob", false},
		{"tool:mail#*", "tool:mail#ann", false}, {"tool:mail#ann", "tool:mails#*", false},
		{"tool:mails#a", "tool:mail#*", false}, {"tool:mail", "tool:mail#*", false},
		{"tool:mail#a#*", "tool:mail#*", true}, {"tool:mail#a#b", "tool:mail#a#*", false},
		{"user", "user", true}, {"user", "plan", false}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct label x = {.origins = label_set(all, atom(all, rows[i].run))},
				   y = {.origins = label_set(all, atom(all, rows[i].check))};
		CHECK_INT(label_is_foreseen(all, label_intern(all, &x), label_intern(all, &y)),
			rows[i].is);
	}
	uint64_t state = 3;
	for (int i = 0; i < N_SAMPLES * 10; i++) {
		uint32_t a = some_label(all, &state), b = some_label(all, &state);
		CHECK_INT(label_is_foreseen(all, a, b), label_is_below(all, a, b));
		CHECK(label_is_foreseen(all, a, label_join(all, a, b)));
	}
	labels_free(all);
}

TEST(labels_have_a_limit)
{
	for (size_t bytes = 0; bytes < 20000; bytes += 37) {
		struct labels *all = labels_new(bytes);
		uint64_t state = 7;
		uint32_t now = LABEL_BOTTOM;
		for (int i = 0; all && i < 60 && !labels_has_failed(all); i++) {
			uint32_t one = some_label(all, &state);
			now = one == LABEL_FAILED ? LABEL_FAILED : label_join(all, now, one);
		}
		CHECK(!all || now != LABEL_FAILED || labels_has_failed(all));
		labels_free(all);
	}
}

TEST(atoms_are_texts)
{
	struct labels *all = labels_new(MAX_BYTES);
	CHECK_INT(label_atom(all, "", 0), 0);
	CHECK_INT(label_atom(all, "a\0b", 3), 0);
	CHECK_INT(atom(all, "x"), atom(all, "x"));
	CHECK(atom(all, "x") != atom(all, "y"));
	CHECK_STR(label_text(all, atom(all, "x")), "x");
	CHECK(!label_text(all, 0) && !label_text(all, 99));
	labels_free(all);
}
