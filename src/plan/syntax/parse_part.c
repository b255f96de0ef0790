/* Parse displays, comprehensions, arguments, parameters, targets and f-strings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/syntax/inside.h"

#include "plan/value/str.h"

#include <string.h>

static struct node *parse_for(struct parser *p)
{
	uint32_t start = p->token.start;
	struct node *target = advance(p) < 0 ? NULL : parse_targets(p);
	if (!target || check_target(p, target, false) < 0 || expect(p, TOK_IN, "'in'") < 0)
		return NULL;
	struct node *iterable = parse_binary(p, 1);
	return iterable ? node_of(p, NODE_CLAUSE_FOR, start, 2, target, iterable) : NULL;
}

static struct node *parse_if(struct parser *p)
{
	uint32_t start = p->token.start;
	struct node *test = NULL;
	p->no_if = true;
	if (advance(p) == 0)
		test = is_at(p, TOK_LAMBDA) ? parse_test(p) : parse_binary(p, 1);
	p->no_if = false;
	return test ? node_of(p, NODE_CLAUSE_IF, start, 1, test) : NULL;
}

static int parse_clauses(struct parser *p, struct kids *kids)
{
	while (is_at(p, TOK_FOR) || is_at(p, TOK_IF)) {
		struct node *clause = is_at(p, TOK_FOR) ? parse_for(p) : parse_if(p);
		if (!clause || kids_add(p, kids, clause) < 0)
			return -1;
	}
	return 0;
}

/* Parse one element of a display: `x`, `*x`, `k: v` or `**d`. */
static int parse_element(struct parser *p, struct kids *kids, bool *is_dict, bool is_brace)
{
	uint32_t start = p->token.start;
	if (is_at(p, TOK_STARSTAR) && is_brace && p->dialect.star_targets) {
		*is_dict = true;
		struct node *x = advance(p) < 0 ? NULL : parse_binary(p, 5);
		return !x || kids_add(p, kids, NULL) < 0 ? -1 : kids_add(p, kids, x);
	}
	if (is_at(p, TOK_STAR) && p->dialect.star_targets) {
		struct node *x = advance(p) < 0 ? NULL : parse_binary(p, 5);
		struct node *star = x ? node_of(p, NODE_STARRED, start, 1, x) : NULL;
		return star ? kids_add(p, kids, star) : -1;
	}
	struct node *x = parse_test(p);
	if (!x || kids_add(p, kids, x) < 0)
		return -1;
	if (!is_brace || !is_at(p, TOK_COLON)) {
		if (is_brace && !p->dialect.set_display)
			return fail_token(p, P_DIALECT, "got no ':', want a dict entry",
				"set([…]) makes a set");
		return 0;
	}
	*is_dict = true;
	struct node *value = advance(p) < 0 ? NULL : parse_test(p);
	return value ? kids_add(p, kids, value) : -1;
}

/* Parse the clauses of a comprehension, which follow its first expression. */
static struct node *parse_comprehension(
	struct parser *p, struct kids *kids, uint32_t start, enum token_kind close, bool is_pair)
{
	bool is_brace = close == TOK_RBRACE;
	enum node_kind kind = is_pair ? NODE_DICT_COMP : is_brace ? NODE_SET_COMP : NODE_LIST_COMP;
	if (kids->item[0] == NULL || kids->item[0]->kind == NODE_STARRED)
		return (void)unexpected(p, "']'"), NULL;
	if (parse_clauses(p, kids) < 0 || expect(p, close, is_brace ? "'}'" : "']'") < 0)
		return NULL;
	return node_new(p, kind, start, kids);
}

static struct node *parse_elements(
	struct parser *p, struct kids *kids, uint32_t start, enum token_kind close)
{
	bool is_dict = close == TOK_RBRACE && is_at(p, close), is_first_dict = is_dict;
	for (bool is_first = true; !is_at(p, close); is_first = false) {
		bool is_pair = false;
		if (parse_element(p, kids, &is_pair, close == TOK_RBRACE) < 0)
			return NULL;
		if (is_first && is_at(p, TOK_FOR))
			return parse_comprehension(p, kids, start, close, is_pair);
		if (is_first)
			is_first_dict = is_dict = is_pair;
		if (is_pair != is_first_dict)
			return (void)fail_token(p, P_EXPECTED, "a set and a dict in one",
				       "write all entries as key: value"),
			       NULL;
		if (!is_at(p, TOK_COMMA))
			break;
		if (advance(p) < 0)
			return NULL;
	}
	if (expect(p, close, close == TOK_RBRACE ? "',' or '}'" : "',' or ']'") < 0)
		return NULL;
	return node_new(p,
		close == TOK_RBRACK ? NODE_LIST
			: is_dict   ? NODE_DICT
				    : NODE_SET,
		start, kids);
}

struct node *parse_display(struct parser *p)
{
	struct kids kids = {0};
	uint32_t start = p->token.start;
	bool no_in = p->no_in, no_if = p->no_if;
	enum token_kind close = is_at(p, TOK_LBRACK) ? TOK_RBRACK : TOK_RBRACE;
	p->no_in = p->no_if = false;
	struct node *node = advance(p) < 0 ? NULL : parse_elements(p, &kids, start, close);
	p->no_in = no_in;
	p->no_if = no_if;
	return node;
}

/* Parse the rest of an argument name=value, from "=" on. @name was parsed as an expression, because
 * only the "=" shows that it is a name. */
static struct node *parse_named(struct parser *p, struct node *name)
{
	if (name->kind != NODE_NAME || name->in_parens)
		return (void)fail_at(p, P_ARGUMENT, name,
			       "keyword argument must have form name=expr", "to compare, write =="),
		       NULL;
	struct node *value = advance(p) < 0 ? NULL : parse_test(p);
	struct node *node = value ? node_of(p, NODE_ARG_NAMED, name->start, 1, value) : NULL;
	if (node)
		node->value = name->value;
	return node;
}

static struct node *parse_argument(struct parser *p, uint32_t n_before)
{
	struct token t = p->token;
	if (t.kind == TOK_STAR || t.kind == TOK_STARSTAR) {
		struct node *x = advance(p) < 0 ? NULL : parse_test(p);
		return x ? node_of(p, t.kind == TOK_STAR ? NODE_ARG_STAR : NODE_ARG_STARSTAR,
				   t.start, 1, x)
			 : NULL;
	}
	struct node *x = parse_test(p);
	if (x && is_at(p, TOK_ASSIGN))
		return parse_named(p, x);
	if (!x || !is_at(p, TOK_FOR))
		return x;
	if (!p->dialect.generators || n_before > 0)
		return (void)fail_token(p, P_GENERATOR, "generators are not in the language",
			       "use a list comprehension: [x for x in y]"),
		       NULL;
	struct kids kids = {0};
	if (kids_add(p, &kids, x) < 0 || parse_clauses(p, &kids) < 0)
		return NULL;
	if (!is_at(p, TOK_RPAREN))
		return (void)fail_token(p, P_GENERATOR, "a generator must be the only argument",
			       "use a list comprehension: [x for x in y]"),
		       NULL;
	return node_new(p, NODE_LIST_COMP, x->start, &kids);
}

/* Check the order of the arguments of a call: positional, named, *args, **kwargs. */
static int check_order(struct parser *p, const struct node *arg, uint32_t *seen)
{
	enum { NAMED = 1, STAR = 2, STARSTAR = 4 };
	const char *msg = NULL;
	if (arg->kind == NODE_ARG_STARSTAR) {
		msg = *seen & STARSTAR ? "multiple **kwargs arguments" : NULL;
		*seen |= STARSTAR;
	} else if (arg->kind == NODE_ARG_STAR) {
		msg = *seen & STARSTAR ? "*args argument may not follow **kwargs"
			: *seen & STAR ? "multiple *args arguments"
				       : NULL;
		*seen |= STAR;
	} else if (arg->kind == NODE_ARG_NAMED) {
		msg = *seen & STARSTAR ? "keyword argument may not follow **kwargs"
			: *seen & STAR && !p->dialect.python_layout
			? "keyword argument may not follow *args"
			: NULL;
		*seen |= NAMED;
	} else if (*seen) {
		msg = *seen & STARSTAR ? "positional argument may not follow **kwargs"
			: *seen & STAR ? "positional argument may not follow *args"
				       : "positional argument may not follow named";
	}
	return msg ? fail_at(p, P_ARGUMENT, arg, msg, "order: positional, named, *args, **kwargs")
		   : 0;
}

static int check_names(struct parser *p, const struct kids *kids, const struct node *arg)
{
	for (uint32_t i = 1; i < kids->n; i++) {
		const struct node *other = kids->item[i];
		if (other->kind != NODE_ARG_NAMED || !str_equal(other->value.str, arg->value.str))
			continue;
		(void)lex_fail(&p->lex, P_ARGUMENT, arg->start, arg->end,
			"keyword argument %.80s is repeated", arg->value.str->data);
		return lex_hint(&p->lex, "leave one of them out");
	}
	return 0;
}

int parse_arguments(struct parser *p, struct kids *kids)
{
	uint32_t seen = 0, n_named = 0;
	while (!is_at(p, TOK_RPAREN)) {
		struct node *arg = parse_argument(p, kids->n - 1);
		if (!arg || check_order(p, arg, &seen) < 0)
			return -1;
		if (arg->kind == NODE_ARG_NAMED &&
			(++n_named > 255 || check_names(p, kids, arg) < 0))
			return n_named > 255
				? fail_at(p, P_ARGUMENT, arg, "more than 255 keyword arguments",
					  "pass **dict")
				: -1;
		if (kids_add(p, kids, arg) < 0)
			return -1;
		if (!is_at(p, TOK_COMMA))
			break;
		if (advance(p) < 0)
			return -1;
	}
	return 0;
}

static struct node *parse_param(struct parser *p, bool has_types)
{
	struct token t = p->token;
	struct val name = VAL_UNSET;
	struct node *value = NULL;
	bool is_star = t.kind == TOK_STAR || t.kind == TOK_STARSTAR;
	if (is_star && advance(p) < 0)
		return NULL;
	if (t.kind != TOK_STAR || is_at(p, TOK_NAME)) {
		if (is_at(p, TOK_SLASH))
			return (void)fail_token(p, P_PYTHON,
				       "positional-only parameters are not in the language",
				       "leave the / out"),
			       NULL;
		name = p->token.value;
		if (expect(p, TOK_NAME, "an identifier") < 0)
			return NULL;
	}
	uint32_t end = p->last_end;
	if (has_types && is_at(p, TOK_COLON)) {
		if (!p->dialect.annotations)
			return (void)fail_token(p, P_ANNOTATION,
				       "annotations are not in this dialect", "leave it out"),
			       NULL;
		if (advance(p) < 0 || !parse_test(p))
			return NULL;
	}
	if (is_at(p, TOK_ASSIGN) && !is_star && (advance(p) < 0 || !(value = parse_test(p))))
		return NULL;
	struct node *node = node_of(p, NODE_PARAM, t.start, 1, value);
	if (node) {
		node->op = (uint8_t)(is_star ? t.kind : TOK_EOF);
		node->value = name;
		node->end = end;
	}
	return node;
}

static int check_param(
	struct parser *p, const struct kids *kids, uint32_t first, const struct node *param)
{
	bool has_default = false, has_star = false, is_after = false;
	for (uint32_t i = first; i < kids->n; i++) {
		const struct node *other = kids->item[i];
		has_default |= other->kid[0] != NULL;
		has_star |= other->op == TOK_STAR;
		is_after |= other->op == TOK_STARSTAR;
		if (other->value.type && param->value.type &&
			str_equal(other->value.str, param->value.str)) {
			(void)lex_fail(&p->lex, P_PARAMETER, param->start, param->end,
				"duplicate parameter: %.80s", param->value.str->data);
			return lex_hint(&p->lex, "give it another name");
		}
	}
	if (is_after)
		return fail_at(p, P_PARAMETER, param,
			param->op == TOK_STARSTAR	? "multiple ** parameters"
				: param->op == TOK_STAR ? "* parameter may not follow **"
							: "parameter may not follow **kwargs",
			"put **kwargs last");
	if (param->op == TOK_STAR && has_star)
		return fail_at(p, P_PARAMETER, param, "multiple * parameters", "one is enough");
	if (param->op == TOK_EOF && !param->kid[0] && has_default && !has_star)
		return fail_at(p, P_PARAMETER, param, "required parameter may not follow optional",
			"put it first, or give it a default");
	return 0;
}

int parse_params(struct parser *p, struct kids *kids, enum token_kind end, bool has_types)
{
	uint32_t first = kids->n;
	while (!is_at(p, end)) {
		struct node *param = parse_param(p, has_types);
		if (!param || check_param(p, kids, first, param) < 0 ||
			kids_add(p, kids, param) < 0)
			return -1;
		if (kids->n - first > 255)
			return fail_at(
				p, P_PARAMETER, param, "more than 255 parameters", "pass a dict");
		if (!is_at(p, TOK_COMMA))
			break;
		if (advance(p) < 0)
			return -1;
	}
	const struct node *last = kids->n > first ? kids->item[kids->n - 1] : NULL;
	for (uint32_t i = first; last && i < kids->n; i++) {
		const struct node *next = i + 1 < kids->n ? kids->item[i + 1] : NULL;
		if (kids->item[i]->op == TOK_STAR && !kids->item[i]->value.type &&
			(!next || next->op == TOK_STARSTAR))
			return fail_at(p, P_PARAMETER, kids->item[i],
				"bare * must be followed by keyword-only parameters",
				"leave it out");
	}
	return 0;
}

static int check_targets(struct parser *p, const struct node *node)
{
	uint32_t n_stars = 0;
	for (uint32_t i = 0; i < node->n; i++) {
		bool is_star = node->kid[i]->kind == NODE_STARRED;
		n_stars += is_star;
		if (check_target(p, is_star ? node->kid[i]->kid[0] : node->kid[i], false) < 0)
			return -1;
	}
	return n_stars > 1
		? fail_at(p, P_TARGET, node, "two starred targets", "only one can take the rest")
		: 0;
}

int check_target(struct parser *p, const struct node *node, bool is_augmented)
{
	bool is_list = node->kind == NODE_TUPLE || node->kind == NODE_LIST;
	if (node->kind == NODE_INDEX)
		return 0;
	if (node->kind == NODE_NAME) {
		if (str_is(node->value, "None") || str_is(node->value, "True") ||
			str_is(node->value, "False"))
			return fail_at(p, P_TARGET, node, "cannot assign to a constant",
				"choose another name");
		return 0;
	}
	if (node->kind == NODE_DOT)
		return p->dialect.python_names
			? fail_at(p, P_ATTRIBUTE, node, "attributes cannot be assigned",
				  "use a dict: d[\"name\"] = value")
			: 0;
	if (is_list && is_augmented)
		return fail_at(p, P_TARGET, node,
			"can't use tuple expression in augmented assignment",
			"assign one after the other");
	if (is_list)
		return check_targets(p, node);
	(void)lex_fail(&p->lex, P_TARGET, node->start, node->end, "can't assign to %s",
		node_text(node->kind));
	return node->kind == NODE_COMPARE
		? lex_hint(&p->lex, "write = for an assignment, == in a condition")
		: -1;
}

/* Find the end of the expression in a part such as {x!r:>8}: a "!", ":" or "}" outside of brackets
 * and strings. */
static uint32_t part_end(const struct parser *p, uint32_t at, uint32_t end)
{
	int depth = 0;
	const char *text = p->src->text;
	for (; at < end; at++) {
		char c = text[at];
		if (c == '\'' || c == '"') {
			const char *close = memchr(text + at + 1, c, end - at - 1);
			at = close ? (uint32_t)(close - text) : end;
		} else if (c == '(' || c == '[' || c == '{') {
			depth++;
		} else if (depth > 0 && (c == ')' || c == ']' || c == '}')) {
			depth--;
		} else if (depth == 0 &&
			(c == '}' || c == ':' || (c == '!' && text[at + 1] != '='))) {
			return at;
		}
	}
	return end;
}

static int f_fail(struct parser *p, uint32_t at, const char *msg, const char *hint)
{
	(void)lex_fail(&p->lex, P_F_STRING, at, at + 1, "%s", msg);
	return lex_hint(&p->lex, "%s", hint);
}

/* Parse the expression in [@from, @to) of the source. The text is not copied, so the nodes get
 * their offsets in the source. */
static struct node *parse_embedded(struct parser *p, uint32_t from, uint32_t to)
{
	struct parser inner = *p;
	inner.lex.at = from;
	inner.lex.end = to;
	inner.lex.n_brackets = 0;
	inner.lex.in_f_string = true;
	inner.lex.at_line_start = false;
	inner.lex.n_indents = 1;
	inner.lex.n_outdents = 0;
	inner.lex.has_line = false;
	if (deeper(p) < 0)
		return NULL;
	inner.depth = p->depth;
	struct node *node = advance(&inner) < 0 ? NULL : parse_exprs(&inner);
	p->depth--;
	if (node && !is_at(&inner, TOK_NEWLINE) && !is_at(&inner, TOK_EOF))
		return (void)unexpected(&inner, "'}'"), NULL;
	return node;
}

static struct node *const_part(
	struct parser *p, const struct token *token, uint32_t from, uint32_t to)
{
	struct token piece = *token;
	struct node *node = node_new(p, NODE_CONST, from, NULL);
	if (!node || lex_unescape(&p->lex, &piece, from, to) < 0)
		return NULL;
	node->value = piece.value;
	node->end = to;
	return node;
}

/* Parse a part of an f-string from "{" to "}". Returns: the offset after "}"; 0 on failure. */
static uint32_t parse_part(
	struct parser *p, const struct token *token, uint32_t at, struct kids *kids)
{
	const char *text = p->src->text;
	uint32_t end = part_end(p, at + 1, token->body_end);
	char conversion = 0;
	struct node *format = NULL;
	if (end > at + 1 && text[end - 1] == '=' && end >= at + 3 &&
		!strchr("=!<>", text[end - 2]) && text[end] != ':' && text[end] != '!')
		return (void)f_fail(
			       p, end - 1, "f\"{x=}\" is not in the language", "write f\"x={x}\""),
		       0;
	struct node *x = parse_embedded(p, at + 1, end);
	if (!x)
		return 0;
	if (end < token->body_end && text[end] == '!') {
		conversion = end + 1 < token->body_end ? text[end + 1] : 0;
		if (conversion != 's' && conversion != 'r')
			return (void)f_fail(p, end, "unknown conversion", "!s or !r"), 0;
		end += 2;
	}
	if (end < token->body_end && text[end] == ':') {
		uint32_t from = end + 1;
		while (end < token->body_end && text[end] != '}' && text[end] != '{')
			end++;
		if (end < token->body_end && text[end] == '{')
			return (void)f_fail(p, end, "a computed format is not in the language",
				       "write the format, or use ljust() and rjust()"),
			       0;
		if (!(format = const_part(p, token, from, end)))
			return 0;
	}
	if (end >= token->body_end || text[end] != '}')
		return (void)f_fail(
			       p, at, "'{' in an f-string is never closed", "write {{ for a brace"),
		       0;
	struct node *part = node_of(p, NODE_F_PART, at, 2, x, format);
	if (!part || kids_add(p, kids, part) < 0)
		return 0;
	part->op = (uint8_t)conversion;
	part->end = end + 1;
	return end + 1;
}

/* Find the end of the literal text that begins at @at: a single brace, or the end of the
 * f-string. */
static uint32_t text_end(const struct token *token, const char *text, uint32_t at)
{
	while (at < token->body_end) {
		bool is_brace = text[at] == '{' || text[at] == '}';
		bool is_twice = at + 1 < token->body_end && text[at + 1] == text[at];
		if (is_brace && !is_twice)
			return at;
		at += is_brace || (text[at] == '\\' && !token->is_raw) ? 2 : 1;
	}
	return token->body_end;
}

static int parse_pieces(struct parser *p, const struct token *token, struct kids *kids)
{
	const char *text = p->src->text;
	for (uint32_t at = token->body; at < token->body_end;) {
		uint32_t end = text_end(token, text, at);
		if (end > at) {
			struct node *piece = const_part(p, token, at, end);
			if (!piece || kids_add(p, kids, piece) < 0)
				return -1;
		}
		if (end < token->body_end && text[end] == '}')
			return f_fail(
				p, end, "a single '}' in an f-string", "write }} for a brace");
		at = end < token->body_end ? parse_part(p, token, end, kids) : end;
		if (at == 0)
			return -1;
	}
	return 0;
}

/* Parse an f-string and the string literals next to it, which Python joins to it. */
struct node *parse_f_string(struct parser *p)
{
	struct kids kids = {0};
	uint32_t start = p->token.start;
	while (is_at(p, TOK_FSTRING) || is_at(p, TOK_STRING)) {
		struct token t = p->token;
		if (t.kind == TOK_FSTRING) {
			if (parse_pieces(p, &t, &kids) < 0 || advance(p) < 0)
				return NULL;
			continue;
		}
		struct node *piece = advance(p) < 0 ? NULL : node_new(p, NODE_CONST, t.start, NULL);
		if (!piece || kids_add(p, &kids, piece) < 0)
			return NULL;
		piece->value = t.value;
	}
	return node_new(p, NODE_F_STRING, start, &kids);
}

int tree_form(struct heap *h, const struct node *f_string, struct val *out)
{
	struct text t = {.h = h};
	for (uint32_t i = 0; i < f_string->n; i++) {
		const struct node *part = f_string->kid[i];
		bool is_place = part->kind == NODE_F_PART;
		if (text_add(&t, is_place ? "" : part->value.str->data,
			    is_place ? 1 : part->value.str->n_bytes) < 0)
			return -1;
	}
	return text_take(&t, T_STRING, out);
}
