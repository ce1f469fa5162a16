/*
 * A library for CUDA_INJECTION64_PATH: counts how often the driver calls it, and lets a test that
 * has loaded it as well do something there.
 */
extern int injection_calls;
extern void (*injection_body)(void); /* NULL: nothing */
int InitializeInjection(void);

int injection_calls;
void (*injection_body)(void);

int InitializeInjection(void)
{
    injection_calls++;
    if (injection_body)
        injection_body();
    return 1;
}
