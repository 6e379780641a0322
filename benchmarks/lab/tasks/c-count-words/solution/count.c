#include <ctype.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    unsigned long counts[3] = {0, 0, 0};
    const char *letters = "lwc";
    int wanted[3] = {0, 0, 0}, any = 0, in_word = 0, c;

    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-' || !argv[i][1] || strspn(argv[i] + 1, letters) != strlen(argv[i] + 1)) {
            fprintf(stderr, "usage: count [-clw]\n");
            return 2;
        }
        for (const char *option = argv[i] + 1; *option; option++)
            wanted[strchr(letters, *option) - letters] = any = 1;
    }
    wanted[0] |= !any;
    while ((c = getchar()) != EOF) {
        counts[0] += c == '\n';
        counts[1] += !in_word && !isspace(c);
        counts[2]++;
        in_word = !isspace(c);
    }
    const char *separator = "";
    for (int i = 0; i < 3; i++)
        if (wanted[i]) {
            printf("%s%lu", separator, counts[i]);
            separator = " ";
        }
    putchar('\n');
    return 0;
}
