"""What stands in the content of an evidence and could leak, act or deceive?"""
