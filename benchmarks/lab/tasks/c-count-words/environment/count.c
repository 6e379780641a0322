#include <stdio.h>

int main(void)
{
    unsigned long lines = 0;
    int c;

    while ((c = getchar()) != EOF)
        if (c == '\n')
            lines++;
    printf("%lu\n", lines);
    return 0;
}
