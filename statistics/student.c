#include "statistics/student.h"

#include <math.h>

#define FRACTION_STEPS 500
#define FRACTION_CLOSE 1e-14
#define BISECTIONS 200
#define SMALLEST 1e-300
#define NEARLY_NORMAL 1e7
#define LARGEST 1e30

static double away_from_zero(double value)
{
    return fabs(value) < SMALLEST ? SMALLEST : value;
}

/* The continued fraction of the incomplete beta function (NIST DLMF 8.17.22), by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1;
    double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
    double fraction = d;
    for (int m = 1; m <= FRACTION_STEPS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        fraction *= d * c;
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        fraction *= d * c;
        if (fabs(d * c - 1) < FRACTION_CLOSE)
            break;
    }
    return fraction;
}

static double log_gamma(double value)
{
    int sign;
    return lgamma_r(value, &sign);
}

/* The regularised incomplete beta function; y is 1 - x, for the digits that 1 - x would lose. */
static double beta_share(double a, double b, double x, double y)
{
    if (x <= 0 || y <= 0)
        return x <= 0 ? 0 : 1;
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(y));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, y) / b;
}

double student_above(double t, double degrees)
{
    double square = t * t;
    double tail;
    if (degrees > NEARLY_NORMAL)
        tail = erfc(fabs(t) / sqrt(2)) / 2;
    else if (isinf(square))
        tail = 0;
    else
        tail = beta_share(degrees / 2, 0.5, degrees / (degrees + square),
                          square / (degrees + square)) /
               2;
    return t < 0 ? 1 - tail : tail;
}

double student_exceeded(double probability, double degrees)
{
    double low = 0, high = 1;
    while (student_above(high, degrees) > probability && high < LARGEST)
        high *= 2;
    for (int i = 0; i < BISECTIONS && high - low > high * 1e-11; i++) {
        double middle = (low + high) / 2;
        if (student_above(middle, degrees) > probability)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}
