/* Integers of any size with GMP, and arithmetic on numbers. SPDX-License-Identifier: Apache-2.0 */
#include "plan/value/int.h"

#include "plan/value/str.h"

#include <gmp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* GMP gets only numbers of at most INT_MAX_BITS, so the memory that GMP allocates itself stays
 * small. */

_Static_assert(sizeof(mp_limb_t) == sizeof(uint64_t), "limbs are 64 bits");

bool val_is_int(struct val v)
{
	return v.type == T_INT || v.type == T_BIG;
}

/* Initialise @z as a read-only view of @v. The value of a small int is stored in *limb, to which @z
 * points. */
static void view(mpz_t z, struct val v, mp_limb_t *limb)
{
	if (v.type == T_BIG) {
		(void)mpz_roinit_n(z, (const mp_limb_t *)v.big->limb, v.big->size);
		return;
	}
	*limb = v.i < 0 ? -(mp_limb_t)v.i : (mp_limb_t)v.i;
	(void)mpz_roinit_n(z, limb, v.i < 0 ? -1 : v.i > 0);
}

static int take(struct heap *h, mpz_t z, struct val *out)
{
	size_t n = mpz_size(z);
	int sign = mpz_sgn(z);
	if (mpz_fits_slong_p(z)) {
		*out = VAL_INT(mpz_get_si(z));
		return 0;
	}
	if (n > INT_MAX_BITS / 64)
		return heap_fail_kind(
			h, FAIL_MEMORY, "int of more than %d bits: it is too large", INT_MAX_BITS);
	struct big *big = heap_alloc(h, sizeof *big + n * sizeof big->limb[0]);
	if (!big)
		return -1;
	big->size = sign < 0 ? -(int32_t)n : (int32_t)n;
	memcpy(big->limb, mpz_limbs_read(z), n * sizeof big->limb[0]);
	*out = VAL_PTR(T_BIG, big);
	return heap_pay(h, n / 16);
}

static size_t bits_of(struct val v)
{
	return v.type == T_BIG ? (size_t)(v.big->size < 0 ? -v.big->size : v.big->size) * 64 : 64;
}

int int_sign(struct val v)
{
	if (v.type == T_BIG)
		return v.big->size < 0 ? -1 : 1;
	return v.i < 0 ? -1 : v.i > 0;
}

static int too_large(struct heap *h)
{
	return heap_fail_kind(
		h, FAIL_MEMORY, "int of more than %d bits: it is too large", INT_MAX_BITS);
}

/* Before GMP computes a result, check that the result will be small enough, and pay fuel for the
 * operation. */
static int check_cost(struct heap *h, enum num_op op, struct val a, struct val b)
{
	size_t na = bits_of(a), nb = bits_of(b);
	if (op == NUM_MUL && na + nb > INT_MAX_BITS + 128)
		return too_large(h);
	if (op == NUM_MUL || op == NUM_FLOORDIV || op == NUM_MOD)
		return heap_pay(h, na / 64 * (nb / 64) / 64);
	if ((op == NUM_SHL || op == NUM_SHR) && int_sign(b) < 0)
		return heap_fail(h, "negative shift count: use %s", op == NUM_SHL ? ">>" : "<<");
	if (op == NUM_SHL && (b.type == T_BIG || (uint64_t)b.i > INT_MAX_BITS) && int_sign(a) != 0)
		return heap_fail(h, "shift count too large: at most %d", INT_MAX_BITS);
	if (op == NUM_POW) {
		if (int_sign(b) < 0)
			return heap_fail(
				h, "int ** negative int: the exponent must not be negative");
		bool is_unit = a.type == T_INT && a.i >= -1 && a.i <= 1;
		size_t bits = a.type == T_INT
			? (size_t)(64 - __builtin_clzll((uint64_t)llabs(a.i) | 1))
			: na;
		if (!is_unit && (b.type == T_BIG || (uint64_t)b.i > INT_MAX_BITS / bits + 1))
			return too_large(h);
		return heap_pay(h, is_unit ? 0 : bits * (uint64_t)b.i / 64);
	}
	return 0;
}

static void power(mpz_t z, const mpz_t x, const mpz_t y)
{
	/* check_cost() allows a huge exponent only if the base is 0, 1 or -1. For these bases only
	 * the parity of the exponent matters. */
	unsigned long n = mpz_fits_ulong_p(y) ? mpz_get_ui(y) : 2ul + (unsigned long)mpz_odd_p(y);
	mpz_pow_ui(z, x, n);
}

static int big_op(struct heap *h, enum num_op op, struct val a, struct val b, struct val *out)
{
	mp_limb_t la, lb;
	mpz_t x, y, z;
	if ((op == NUM_FLOORDIV || op == NUM_MOD) && int_sign(b) == 0)
		return heap_fail(
			h, op == NUM_MOD ? "integer modulo by zero" : "floored division by zero");
	if (check_cost(h, op, a, b) < 0)
		return -1;
	view(x, a, &la);
	view(y, b, &lb);
	mpz_init(z);
	switch ((int)op) {
	case NUM_ADD:
		mpz_add(z, x, y);
		break;
	case NUM_SUB:
		mpz_sub(z, x, y);
		break;
	case NUM_MUL:
		mpz_mul(z, x, y);
		break;
	case NUM_FLOORDIV:
		mpz_fdiv_q(z, x, y);
		break;
	case NUM_MOD:
		mpz_fdiv_r(z, x, y);
		break;
	case NUM_AND:
		mpz_and(z, x, y);
		break;
	case NUM_OR:
		mpz_ior(z, x, y);
		break;
	case NUM_XOR:
		mpz_xor(z, x, y);
		break;
	case NUM_POW:
		power(z, x, y);
		break;
	case NUM_SHL:
		mpz_mul_2exp(z, x, int_sign(a) == 0 ? 0 : (mp_bitcnt_t)b.i);
		break;
	default:
		mpz_fdiv_q_2exp(
			z, x, b.type == T_BIG ? 2 * (mp_bitcnt_t)INT_MAX_BITS : (mp_bitcnt_t)b.i);
	}
	int r = take(h, z, out);
	mpz_clear(z);
	return r;
}

/* Compute with 64-bit integers. Returns: false if the result does not fit or is not defined. */
static bool small_op(enum num_op op, int64_t a, int64_t b, int64_t *out)
{
	switch ((int)op) {
	case NUM_ADD:
		return !__builtin_add_overflow(a, b, out);
	case NUM_SUB:
		return !__builtin_sub_overflow(a, b, out);
	case NUM_MUL:
		return !__builtin_mul_overflow(a, b, out);
	case NUM_AND:
		*out = a & b;
		return true;
	case NUM_OR:
		*out = a | b;
		return true;
	case NUM_XOR:
		*out = a ^ b;
		return true;
	case NUM_FLOORDIV:
		if (b == 0 || (a == INT64_MIN && b == -1))
			return false;
		*out = a / b - (a % b != 0 && (a < 0) != (b < 0));
		return true;
	case NUM_MOD:
		if (b == 0 || b == -1)
			return false;
		*out = a % b;
		*out += *out != 0 && (*out < 0) != (b < 0) ? b : 0;
		return true;
	case NUM_SHL:
		if (b < 0 || b > 62 || a > INT64_MAX >> b || a < INT64_MIN >> b)
			return false;
		*out = (int64_t)((uint64_t)a << b);
		return true;
	case NUM_SHR:
		if (b < 0)
			return false;
		*out = a >> MIN(b, 63);
		return true;
	default:
		return false;
	}
}

static int float_op(struct heap *h, enum num_op op, double a, double b, struct val *out)
{
	double q;
	switch ((int)op) {
	case NUM_ADD:
		q = a + b;
		break;
	case NUM_SUB:
		q = a - b;
		break;
	case NUM_MUL:
		q = a * b;
		break;
	case NUM_DIV:
		if (b == 0)
			return heap_fail(h, "floating-point division by zero");
		q = a / b;
		break;
	case NUM_FLOORDIV:
		if (b == 0)
			return heap_fail(h, "floored division by zero");
		q = isinf(b) && isfinite(a) ? ((a < 0) != (b < 0) && a != 0 ? -1 : 0)
					    : floor(a / b);
		break;
	case NUM_MOD:
		if (b == 0)
			return heap_fail(h, "floating-point modulo by zero");
		q = fmod(a, b);
		if (q != 0 && (q < 0) != (b < 0))
			q += b;
		else if (q == 0)
			q = copysign(0, b);
		break;
	case NUM_POW:
		q = pow(a, b);
		if (isnan(q) && !isnan(a) && !isnan(b))
			return heap_fail(
				h, "negative float ** fraction: the result is not a real number");
		break;
	default:
		return 1;
	}
	*out = VAL_FLOAT(q);
	return 0;
}

static bool is_number(struct val v)
{
	return v.type == T_INT || v.type == T_BIG || v.type == T_FLOAT;
}

int num_op(struct heap *h, enum num_op op, struct val a, struct val b, struct val *out)
{
	double x, y;
	int64_t small;
	if (!is_number(a) || !is_number(b))
		return 1;
	if (a.type == T_INT && b.type == T_INT && small_op(op, a.i, b.i, &small)) {
		*out = VAL_INT(small);
		return 0;
	}
	bool is_whole = a.type != T_FLOAT && b.type != T_FLOAT;
	if (is_whole && op != NUM_DIV && (op != NUM_POW || int_sign(b) >= 0))
		return big_op(h, op, a, b, out);
	if (is_whole && op == NUM_DIV && int_sign(b) == 0)
		return heap_fail(h, "floating-point division by zero");
	if (int_to_float(h, a, &x) < 0 || int_to_float(h, b, &y) < 0)
		return -1;
	return float_op(h, op, x, y, out);
}

int int_negate(struct heap *h, struct val v, struct val *out)
{
	return num_op(h, NUM_SUB, VAL_INT(0), v, out);
}

int int_invert(struct heap *h, struct val v, struct val *out)
{
	return num_op(h, NUM_SUB, VAL_INT(-1), v, out);
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

int int_parse(struct heap *h, const char *text, size_t bytes, int base, struct val *out)
{
	uint64_t small = 0;
	bool is_small = true;
	if (bytes == 0)
		return 1;
	for (size_t i = 0; i < bytes; i++) {
		int d = digit_of(text[i]);
		if (d >= base)
			return 1;
		if (is_small && small <= (INT64_MAX - (uint64_t)d) / (uint64_t)base)
			small = small * (uint64_t)base + (uint64_t)d;
		else
			is_small = false;
	}
	if (is_small) {
		*out = VAL_INT((int64_t)small);
		return 0;
	}
	/* Limit the length of the text before it is parsed: a digit stands for at least one bit,
	 * and in base 8 or more for at least three bits. */
	if (bytes > INT_MAX_BITS || (base >= 8 && bytes > INT_MAX_BITS / 3 + 1))
		return too_large(h);
	char *copy = heap_alloc(h, bytes + 1);
	if (!copy || heap_pay(h, bytes / 8) < 0)
		return -1;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	mpz_t z;
	mpz_init(z);
	int r = mpz_set_str(z, copy, base) == 0 ? take(h, z, out) : 1;
	mpz_clear(z);
	heap_release(h, copy, bytes + 1);
	return r;
}

/* Append an integer that fits in 64 bits, in decimal. */
static int write_small(struct text *t, int64_t n)
{
	char out[24], *at = out + sizeof out;
	uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;
	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (n < 0)
		*--at = '-';
	return text_add(t, at, (size_t)(out + sizeof out - at));
}

int int_write(struct text *t, struct val v, int base)
{
	if (v.type == T_INT && base == 10)
		return write_small(t, v.i);
	mp_limb_t limb;
	mpz_t z;
	char small[80];
	view(z, v, &limb);
	size_t room = mpz_sizeinbase(z, base) + 2;
	if (room <= sizeof small)
		return text_puts(t, mpz_get_str(small, base, z));
	char *data = heap_alloc(t->h, room);
	if (!data || heap_pay(t->h, room / 8) < 0)
		return -1;
	int r = text_puts(t, mpz_get_str(data, base, z));
	heap_release(t->h, data, room);
	return r;
}

/* Convert to the nearest float, with ties to even. mpz_get_d() would round toward zero. */
static double nearest(const mpz_t z)
{
	size_t bits = mpz_sizeinbase(z, 2);
	if (bits <= 64 || bits > 1100) {
		double small = (double)mpz_get_ui(z), d = bits > 1100 ? (double)INFINITY : small;
		return mpz_sgn(z) < 0 ? -d : d;
	}
	mpz_t top;
	mpz_init(top);
	mpz_tdiv_q_2exp(top, z, bits - 64);
	/* Set the lowest bit if any bit was cut off, so that an inexact value does not look like a
	 * tie. */
	uint64_t word = mpz_get_ui(top) | (mpz_scan1(z, 0) < bits - 64);
	double d = ldexp((double)word, (int)(bits - 64));
	mpz_clear(top);
	return mpz_sgn(z) < 0 ? -d : d;
}

int int_to_float(struct heap *h, struct val v, double *out)
{
	if (v.type == T_FLOAT) {
		*out = v.f;
		return 0;
	}
	if (v.type == T_INT) {
		*out = (double)v.i;
		return 0;
	}
	mp_limb_t limb;
	mpz_t z;
	view(z, v, &limb);
	double d = nearest(z);
	if (isinf(d))
		return heap_fail(h, "int too large to convert to float");
	*out = d;
	return 0;
}

int int_from_float(struct heap *h, double f, struct val *out)
{
	if (!isfinite(f))
		return heap_fail(h,
			isnan(f) ? "cannot convert float NaN to integer"
				 : "cannot convert float infinity to integer");
	f = trunc(f);
	if (f >= -0x1p63 && f < 0x1p63) {
		*out = VAL_INT((int64_t)f);
		return 0;
	}
	mpz_t z;
	mpz_init_set_d(z, f);
	int r = take(h, z, out);
	mpz_clear(z);
	return r;
}

static int sign_of(double d)
{
	return d < 0 ? -1 : d > 0;
}

static int compare_mixed(struct val a, double f)
{
	mp_limb_t limb;
	mpz_t z;
	if (isnan(f) || isinf(f))
		return f < 0 ? 1 : -1;
	view(z, a, &limb);
	int r = mpz_cmp_d(z, f);
	return r < 0 ? -1 : r > 0;
}

int num_compare(struct val a, struct val b)
{
	mp_limb_t la, lb;
	mpz_t x, y;
	if (a.type == T_FLOAT && b.type == T_FLOAT) {
		if (isnan(a.f) || isnan(b.f))
			return !!isnan(a.f) - !!isnan(b.f);
		return (a.f > b.f) - (a.f < b.f);
	}
	if (a.type == T_FLOAT)
		return -compare_mixed(b, a.f);
	if (b.type == T_FLOAT)
		return compare_mixed(a, b.f);
	if (a.type == T_INT && b.type == T_INT)
		return (a.i > b.i) - (a.i < b.i);
	view(x, a, &la);
	view(y, b, &lb);
	return sign_of(mpz_cmp(x, y));
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

static mpz_srcptr view_big(mpz_t z, struct val v)
{
	mp_limb_t limb;
	view(z, v, &limb);
	return z;
}

uint64_t int_hash(const struct heap *h, struct val v)
{
	mpz_t z, shared;
	if (v.type == T_FLOAT && trunc(v.f) == v.f && fabs(v.f) < 0x1p63)
		v = VAL_INT((int64_t)v.f);
	if (v.type == T_INT)
		return mix((uint64_t)v.i ^ h->seed[0]) ^ h->seed[1];
	if (v.type == T_FLOAT && isfinite(v.f) && trunc(v.f) == v.f)
		mpz_init_set_d(z, v.f);
	else if (v.type == T_FLOAT)
		return mix((uint64_t)(isnan(v.f)	? 77
					   : isinf(v.f) ? 78 + sign_of(v.f)
							: (int64_t)(v.f * 0x1p40)) ^
			h->seed[0]);
	else
		mpz_init_set(z, view_big(shared, v));
	uint64_t hash = h->seed[1] + (uint64_t)mpz_sgn(z);
	for (size_t i = 0; i < mpz_size(z); i++)
		hash = mix(hash ^ mpz_getlimbn(z, (mp_size_t)i) ^ h->seed[0]);
	mpz_clear(z);
	return hash;
}
