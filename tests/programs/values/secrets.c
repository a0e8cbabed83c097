/* Prints and passes what looks like secrets, and what does not. */
#include <stdio.h>
#include <string.h>

struct account {
    const char* user;
    const char* password;
    int password_length;
};

__attribute__((noinline)) int check(const struct account* account, const char* token, const char* word) {
    return account->password_length > (int)strlen(word) + (int)strlen(token);
}

int main(void) {
    struct account account = {"bob", "correct horse", 13};
    const char* web = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P";
    puts("AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE");
    puts("DB_PASSWORD=hunter2hunter2 in the environment");
    puts("connecting to postgres://bob:swordfish@db.example/shop");
    puts("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
    puts("{\"SecretAccessKey\": \"zJalrXUtnFEMI\", \"refresh_token\": \"tGzv3JOkF0XG5Qx2TlKWIA\"}");
    puts("PGPASSWORD=elephants psql");
    puts("X-Api-Key: 0a1b2c3d4e5f");
    puts("token = IDENTIFIER, TOKEN=, sk-short, password: none given");
    puts("-----BEGIN RSA PRIVATE KEY-----");
    puts("{-----BEGIN PRIVATE KEY-----\\nMIIBOgIBAAJBAKj34GkxFhD9\\n-----END PRIVATE KEY-----} in one line");
    return check(&account, web, "plain words");
}
