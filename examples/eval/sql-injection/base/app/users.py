def by_id(cursor, request):
    cursor.execute("select name from users where id = %s", (request.args["id"],))
    return cursor.fetchone()
