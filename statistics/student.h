/*
 * Student's t distribution, for degrees of freedom that need not be whole (Welch's are not).
 */
#pragma once

/* The probability of a value above t. degrees is positive; INFINITY is the normal distribution. */
double student_above(double t, double degrees);

/* The value that is exceeded with the given probability, of 1e-12 to 0.5. */
double student_exceeded(double probability, double degrees);
