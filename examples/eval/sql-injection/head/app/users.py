from flask import request


def by_id(cursor):
    cursor.execute("select name from users where id = '" + request.args["id"] + "'")
    return cursor.fetchone()
