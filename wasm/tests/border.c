/* The library from C: an honest request, a refused one, and one that is no request. */
#include <stdio.h>
#include <string.h>

#include "../liqo_auth.h"

static int failures = 0;

static void expect(const char *request, const char *expected) {
    size_t length = 0;
    uint8_t *answer = liqo_auth_call((const uint8_t *)request, strlen(request), &length);
    if (length < strlen(expected) || memcmp(answer, expected, strlen(expected)) != 0) {
        printf("%s\n  expected %s\n  found    %.*s\n", request, expected, (int)length, answer);
        failures++;
    }
    liqo_auth_release(answer, length);
}

int main(void) {
    uint8_t *memory = liqo_auth_allocate(16);
    for (int i = 0; i < 16; i++) {
        failures += memory[i] != 0;
    }
    liqo_auth_release(memory, 16);
    liqo_auth_release(liqo_auth_allocate(0), 0);

    /* 64 random bytes in base64, and again in the request's own base64. */
    expect("{\"checkNonce\":{\"nonce\":\"cmZtUFZZdkNHUWliQXloWGRnTkQyU2VKaWhmQllJTU90ZWtpWGFzVzdS"
           "UFRNd29HbEJGaHRzN2krYzFzdUh4dXB4eThnR1hESnNyL2tqcytFSmE5WFE9PQ==\"}}",
           "{\"ok\":null}");
    expect("{\"checkNonce\":{\"nonce\":\"aGVsbG8=\"}}", "{\"error\":{");
    expect("", "{\"error\":{");
    return failures != 0;
}
