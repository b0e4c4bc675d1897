"""What every room needs and none owns: time, money, errors, storage, identity vault, audit, sign-in, web glue."""
